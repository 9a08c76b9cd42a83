import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackPostgres
import Synchronization
import TestSupport
import Testing

@Suite("Server crashes")
struct ServerCrashTests {
    @Test("Each acknowledged message is stored exactly once, at its sequence number, after repeated kills")
    func acknowledgedMessagesSurviveKills() async throws {
        let server = try await RunningServer.start()
        try await Self.expectMessagesSurvive(killing: [server]) {}
        try await server.terminate()
        let verified = try await RunningServer.command(["verify", server.data.path])
        #expect(verified.code == 0, "\(verified.output)")
    }

    @Test(.needs(.postgres))
    func `The same holds with a PostgreSQL store, which also loses its connections`() async throws {
        let database = try PostgresDatabase()
        let url = try database.makeSchema()
        let server = try await RunningServer.start(RunningServer.withoutLimits + ["--store", url.text])
        try await Self.expectMessagesSurvive(killing: [server]) { try database.endSessions(of: url) }
        try await Self.expectNoViolations(of: server, url.text)
        #expect(try await server.terminate() == 0)
    }

    @Test(.needs(.postgres), .needs(.nats))
    func `The same holds with three nodes, of which one is killed at a time, together with NATS`() async throws {
        let database = try PostgresDatabase()
        let url = try database.makeSchema()
        let nats = try await NATSServer.start()
        var nodes: [RunningServer] = []
        for _ in 0..<3 {
            let options = ["--store", url.text, "--bus", nats.url]
            nodes.append(try await RunningServer.start(RunningServer.withoutLimits + options))
        }
        try await Self.expectMessagesSurvive(killing: nodes) {
            try database.endSessions(of: url)
            try await nats.restart()
        }
        try await Self.expectNoViolations(of: nodes[0], url.text)
        for node in nodes { #expect(try await node.terminate() == 0, "\(node.log)") }
    }

    private static func expectNoViolations(of server: RunningServer, _ store: String) async throws {
        let verified = try await RunningServer.command(["verify", server.data.path, "--store", store], within: 600)
        #expect(verified.code == 0 && verified.output == "no violations\n", "\(verified)")
    }

    /// Kills one of the servers several times while devices send to all of them, and checks that each acknowledged
    /// message is stored once.
    ///
    /// - Parameter disturb: Called before each kill.
    private static func expectMessagesSurvive(
        killing servers: [RunningServer], disturb: @escaping @Sendable () async throws -> Void
    ) async throws {
        let kills = Run.isLong ? 20 : 4
        var generator = SplitMix64(printingSeedFor: "server crashes")
        let proxy = try await TestProxy(to: servers)
        let server = servers[0]
        let groups = (0..<5).map { ConversationID.group(Identifier(stringLiteral: "plug\($0)")) }
        var clients: [ChatClient] = []
        let users = (0..<50).map { UserID(stringLiteral: "sender\($0)") }
        for (number, group) in groups.enumerated() {
            let own = users[number * 10..<number * 10 + 10]
            let members = own.map { "\"\($0)\"" }.joined(separator: ",")
            let answer = try await server.admin().call(
                "PUT", "/v1/conversations/\(group)", "{\"members\":[\(members)]}")
            try #require(answer.status == 201)
            for user in own { clients.append(try await Device.open(server, user, over: proxy)) }
        }

        let sentMessages = SentMessages()
        let start = ContinuousClock.now
        var delays: [(until: Duration, held: Duration, dark: Duration)] = []
        for _ in 0..<kills {
            delays.append(
                (generator.milliseconds(50...900), generator.milliseconds(0...40), generator.milliseconds(0...300)))
        }
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for (number, client) in clients.enumerated() {
                let chat = client.conversation(groups[number / 10])
                tasks.addTask { [client] in
                    var count = 0
                    while !sentMessages.isOver {
                        count += 1
                        let text = "\(client.user) says \(count)"
                        let sending = try await chat.send(.text(text))
                        sentMessages.begin(sending.id, .init(text: text, sender: client.user, conversation: chat.id))
                        sentMessages.acknowledge(try await sending.waitUntilSent())
                    }
                }
            }
            tasks.addTask { [delays] in
                var stored = 0
                for (number, delay) in delays.enumerated() {
                    // Every other kill hits devices that are still reconnecting after the previous one.
                    if number.isMultiple(of: 2) { try await waitForAllSenders(sentMessages, users.count) }
                    try await Task.sleep(for: delay.until)
                    try await disturb()
                    // The held proxy loses the server's last responses: those messages are stored but not acknowledged.
                    proxy.set(.held)
                    try await Task.sleep(for: delay.held)
                    let underWay = sentMessages.unacknowledged
                    let server = servers[number % servers.count]
                    server.kill()
                    proxy.cut()
                    try await Task.sleep(for: delay.dark)
                    let lost = underWay.intersection(sentMessages.unacknowledged)
                    #expect(!lost.isEmpty, "No message was in flight at kill \(number + 1).")
                    try await server.start()
                    let there = try await newestIDs(in: groups, of: server).intersection(lost).count
                    print(
                        """
                        kill \(number + 1) after \(ContinuousClock.now - start): \
                        \(lost.count) messages unacknowledged, \(there) of them stored
                        """)
                    stored += there
                    proxy.set(.full)
                }
                #expect(stored > 0, "Only messages that are stored but not acknowledged can be duplicated by a retry.")
                try await waitForAllSenders(sentMessages, users.count)
                sentMessages.end()
            }
            try await tasks.waitForAll()
        }
        print("all sent after \(ContinuousClock.now - start)")
        for client in clients {
            await client.waitForOutbox()
            #expect(try await client.pendingCount() == 0)
        }

        let sent = sentMessages.all
        #expect(sent.count >= 100, "Too few messages were sent.")
        print("\(sent.count) messages over \(kills) kills")
        #expect(
            Set(sentMessages.acknowledged.keys) == Set(sent.keys),
            "An outbox was empty before its messages were acknowledged.")
        for group in groups {
            let stored = try await Device.everything(in: group, of: server)
            #expect(stored.map(\.seq) == Array(1...Int64(stored.count)), "Sequence numbers are not dense.")
            let expected = sent.filter { $0.value.conversation == group }
            #expect(stored.count == expected.count)
            #expect(
                Set(stored.map(\.id)) == Set(expected.keys),
                "The stored messages differ from the acknowledged messages.")
            // A retry with a new ID would store a text twice.
            #expect(Set(stored.compactMap(\.text)).count == stored.count, "A text is stored twice.")
            for message in stored {
                #expect(message.text == expected[message.id]?.text)
                #expect(message.sender == expected[message.id]?.sender)
                #expect(
                    message.seq == sentMessages.acknowledged[message.id],
                    "The message was acknowledged with another number.")
            }
        }
        for client in clients {
            #expect(try await client.verifyIntegrity() == [])
            await client.close()
        }
    }

    /// Waits until each sender has received a new acknowledgment, reconnecting without help.
    private static func waitForAllSenders(_ sentMessages: SentMessages, _ count: Int) async throws {
        let before = sentMessages.acknowledged
        try await eventually("all devices have reconnected", within: 90) {
            let all = sentMessages.all
            let senders = Set(
                sentMessages.acknowledged.keys.filter { before[$0] == nil }.compactMap { all[$0]?.sender })
            return senders.count == count ? true : nil
        }
    }

    /// Returns the IDs of the newest hundred messages of each group.
    private static func newestIDs(in groups: [ConversationID], of server: RunningServer) async throws -> Set<MessageID>
    {
        let admin = try await server.admin()
        var ids: Set<MessageID> = []
        for group in groups {
            let page = try await admin.call("GET", "/v1/conversations/\(group)/messages?limit=100")
            ids.formUnion(try page.json.objects("messages").map { try MessageID($0["id"] as? String ?? "") })
        }
        return ids
    }
}

/// The sent messages and the server's acknowledgments.
private final class SentMessages: Sendable {
    struct Content: Sendable {
        var text: String
        var sender: UserID
        var conversation: ConversationID
    }

    private struct State {
        var all: [MessageID: Content] = [:]
        var acknowledged: [MessageID: Int64] = [:]
        var isOver = false
    }

    private let state = Mutex(State())

    func begin(_ id: MessageID, _ content: Content) { state.withLock { $0.all[id] = content } }
    func acknowledge(_ message: Message) { state.withLock { $0.acknowledged[message.id] = message.seq } }
    func end() { state.withLock { $0.isOver = true } }

    var isOver: Bool { state.withLock { $0.isOver } }
    var all: [MessageID: Content] { state.withLock { $0.all } }
    /// The acknowledged sequence number of each message.
    var acknowledged: [MessageID: Int64] { state.withLock { $0.acknowledged } }
    var unacknowledged: Set<MessageID> {
        state.withLock { state in Set(state.all.keys.filter { state.acknowledged[$0] == nil }) }
    }
}
