import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackPostgres
import Synchronization
import TestSupport
import Testing

/// Nodes whose commits don't wait for the standby of PostgreSQL.
@Suite(.needs(.postgres), .needs(.nats))
struct AsynchronousStandbyTests {
    private let group = ConversationID.group("crew")

    /// A message that a node has confirmed.
    private struct Sent {
        let id: MessageID
        let sender: UserID
        var text: String
    }

    /// Starts two nodes, and makes the group.
    private func start(_ database: PostgresPair, _ nats: NATSServer) async throws -> [RunningServer] {
        var nodes: [RunningServer] = []
        for _ in 0..<2 {
            let options = ["--store", try database.url.text, "--bus", nats.url, "--allow-asynchronous-standbys"]
            nodes.append(try await RunningServer.start(RunningServer.withoutLimits + options))
        }
        let made = try await nodes[0].admin().call(
            "PUT", "/v1/conversations/\(group)", #"{"members":["alice","bob","carol"]}"#)
        try #require(made.status == 201)
        return nodes
    }

    /// Sends messages from Alice's device and, over HTTP, from Carol, in turn.
    private func send(_ numbers: ClosedRange<Int>, _ alice: ChatClient, _ carol: API) async throws -> [Sent] {
        var sent: [Sent] = []
        for number in numbers {
            var text = "alice says \(number)"
            let message = try await alice.conversation(group).send(.text(text)).waitUntilSent()
            sent.append(Sent(id: message.id, sender: "alice", text: text))
            text = "carol says \(number)"
            let id = UUID()
            let answer = try await carol.send(text, to: "\(group)", id: id)
            try #require(answer.status == 201, "\(answer)")
            sent.append(Sent(id: MessageID(id), sender: "carol", text: text))
        }
        return sent
    }

    /// Waits until each screen shows exactly these messages, numbered from 1, without a gap.
    private func expect(_ screens: [Screen], show messages: [Sent]) async throws {
        let expected = lines(messages)
        for screen in screens {
            // A device that lost its node waits for up to 30 seconds before it connects again.
            let isRight = try await eventually(within: 300) { screen.lines == expected }
            try #require(isRight, "\(screen.user) sees \(screen.lines), and not \(expected).")
        }
    }

    private func lines(_ messages: [Sent]) -> [String] {
        zip(Int64(1)..., messages).map { Line.text($0, $1.sender, $1.id, $1.text) }
    }

    @Test(.timeLimit(.minutes(30)))
    func `After a failover that loses confirmed messages, all nodes end, and devices send only their own again, once`()
        async throws
    {
        let database = try await PostgresPair.start()
        try await database.setAsynchronous()
        let nats = try await NATSServer.start()
        let nodes = try await start(database, nats)
        let alice = try await Device.open(nodes[0], "alice")
        let bob = try await Device.open(nodes[1], "bob")
        let carol = try await nodes[1].api("carol")
        let screens = [alice, bob].map { Screen($0.user, $0.conversation(group).timeline()) }
        let kept = try await send(1...3, alice, carol)
        try await expect(screens, show: kept)
        try await database.waitForStandby()

        try await database.stopStandby()
        var changed = kept
        changed[0].text = "changed"
        try await alice.conversation(group).edit(kept[0].id, to: .text("changed")).waitForCompletion()
        let lost = try await send(4...15, alice, carol)
        // Each node has delivered these commits to a device.
        try await expect(screens, show: changed + lost)
        try await database.failOver()
        for node in nodes {
            #expect(try await node.waitForEnd() == 1, "\(node.log)")
            #expect(node.log.contains("The database lost commit"), "\(node.log)")
        }
        let url = try database.url
        #expect(url.has("(SELECT count(*) FROM message) = \(kept.count)"))
        let isRenewedOnce = "(SELECT count(DISTINCT generation) FROM incarnation) = 2"
        #expect(url.has(isRenewedOnce))

        // The devices connect and synchronize by themselves. The edit, and Carol's messages, are lost on them too.
        for node in nodes { try await node.start() }
        var remaining = kept + lost.filter { $0.sender == alice.user }
        try await expect(screens, show: remaining)
        // The server does not know the message, so it stores it as a new one.
        let message = try #require(lost.first { $0.sender == "carol" })
        let again = try await carol.send(message.text, to: "\(group)", id: message.id.uuid)
        #expect(again.status == 201, "\(again)")
        remaining.append(message)
        try await expect(screens, show: remaining)

        for node in nodes {
            let stored = try await Device.everything(in: group, of: node)
            #expect(stored.map { Line.text($0) } == lines(remaining))
        }
        #expect(url.has("(SELECT count(*) FROM message) = \(remaining.count)"))
        #expect(url.has(isRenewedOnce))
        for device in [alice, bob] {
            #expect(try await device.pendingCount() == 0)
            #expect(try await device.verifyIntegrity() == [])
            await device.close()
        }
        let verified = try await RunningServer.command(["verify", nodes[0].data.path, "--store", url.text])
        #expect(verified.code == 0 && verified.output == "no violations\n", "\(verified)")
        for node in nodes { #expect(try await node.terminate() == 0, "\(node.log)") }
    }
}

/// A line of a conversation, with everything that must be the same on all devices.
private enum Line {
    static func text(_ seq: Int64, _ sender: UserID, _ id: MessageID, _ text: String) -> String {
        "\(seq) \(id) \(sender): \(text)"
    }

    static func text(_ message: Message) -> String {
        text(message.seq, message.sender, message.id, message.text ?? "")
    }

    static func text(_ item: Timeline.Item) -> String {
        switch item {
        case .message(let message): text(message)
        case .pending(let message): "\(message.id) is not sent"
        case .gap(let places, _): "\(places) are missing"
        }
    }
}

/// A conversation as an app shows it, which stays open all the time.
private final class Screen: Sendable {
    private final class Content: Sendable {
        let lines = Mutex<[String]>([])
    }

    let user: UserID
    private let content = Content()
    private let watching: Task<Void, Never>

    init(_ user: UserID, _ timeline: Timeline) {
        self.user = user
        watching = Task { [content] in
            for await view in timeline.views {
                let lines = view.items.map { Line.text($0) }
                content.lines.withLock { $0 = lines }
            }
        }
    }

    deinit { watching.cancel() }

    var lines: [String] { content.lines.withLock { $0 } }
}
