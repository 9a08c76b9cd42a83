import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackPostgres
import Synchronization
import TestSupport
import Testing

/// Devices that work while nodes, NATS, the primary of PostgreSQL and the network fail.
///
/// With `SCROLLBACK_LONG`, 200 devices work for an hour, or for `SCROLLBACK_STORM_SECONDS`.
@Suite(.needs(.postgres), .needs(.nats), .needs(.s3), .needs(.haProxy))
struct StormTests {
    private static let groups = Run.isLong ? 20 : 2
    /// The users who write to a group. Each has two devices, as the visitor of the group has.
    private static let writers = Run.isLong ? 4 : 3
    /// The longest pause of a device between two changes, in milliseconds.
    private static let pause: Int64 = Run.isLong ? 16_000 : 300
    private static let faults = Run.isLong ? Int.max : 2 * Fault.allCases.count
    /// How long faults occur at most, in seconds.
    private static let seconds =
        ProcessInfo.processInfo.environment["SCROLLBACK_STORM_SECONDS"].flatMap { Double($0) } ?? 3_600
    private static let secret = "0123456789abcdef-secret"

    /// A user with two devices.
    private struct Person {
        var user: UserID
        /// The conversations of the user. The visitor of a group writes to none.
        var chats: [ConversationID]
        var isVisitor = false
        var devices: [ChatClient] = []
    }

    private static func people() -> [Person] {
        (0..<groups).flatMap { number -> [Person] in
            let group = ConversationID.group(Identifier(stringLiteral: "g\(number)"))
            let users = (0..<writers).map { UserID(stringLiteral: "user\(number)-\($0)") }
            let writing = users.indices.map { index in
                let peers = [users[(index + 1) % users.count], users[(index + users.count - 1) % users.count]]
                let direct = Set(peers).map { ConversationID.direct(between: users[index], and: $0) }
                return Person(user: users[index], chats: [group] + direct.sorted { "\($0)" < "\($1)" })
            }
            return writing + [Person(user: UserID(stringLiteral: "visitor\(number)"), chats: [group], isVisitor: true)]
        }
    }

    @Test(.timeLimit(.minutes(120)))
    func `Nothing is lost, repeated or shown wrongly after nodes, NATS, the primary and the network failed`()
        async throws
    {
        var generator = SplitMix64(printingSeedFor: "storm")
        let cluster = try await StormCluster.start()
        let (events, pushes) = (EventLog(), WebhookReceiver(.answers("")))
        let webhook = WebhookReceiver { post in
            events.add(post)
            return .answers("")
        }
        try await webhook.start()
        try await pushes.start()
        try await prepare(cluster, webhook, pushes)
        let folder = try TemporaryFolder()
        var people = Self.people()
        for index in people.indices {
            for device in 0..<2 {
                let user = people[index].user
                let store = folder.url.appending(component: "\(user)-\(device)")
                people[index].devices.append(
                    try await Device.open(cluster.nodes[0], user, store: .directory(store), over: cluster.network))
            }
        }

        let load = StormLoad()
        try await run(load, people, cluster, &generator)
        for person in people where !person.isVisitor {
            try await load.sendLast(to: person.chats[0], by: person.devices[0])
        }
        for client in people.flatMap(\.devices) {
            await client.waitForOutbox()
            #expect(try await client.pendingCount() == 0)
        }
        let stored = try await expectMessages(load, people, cluster)
        try await expectEqualDevices(load, people, stored, cluster, &generator)
        try await expectEvents(load, stored, events, pushes)
        for client in people.flatMap(\.devices) { await client.close() }
        let verified = try await RunningServer.command(
            ["verify", cluster.nodes[0].data.path, "--store", try cluster.database.url.text], within: 3_600)
        #expect(verified.code == 0 && verified.output == "no violations\n", "\(verified)")
        #expect(try await cluster.stop() == [0, 0, 0])
    }

    /// Makes the groups, and a user without a connection who gets pushes for one of them.
    private func prepare(
        _ cluster: StormCluster, _ webhook: WebhookReceiver, _ pushes: WebhookReceiver
    ) async throws {
        for number in 0..<Self.groups {
            let name = ConversationID.group(Identifier(stringLiteral: "g\(number)"))
            let users = Self.people().filter { $0.chats.contains(name) }.map { "\"\($0.user)\"" } + ["\"sleeper\""]
            let made = try await cluster.admin(
                "PUT", "/v1/conversations/\(name)", #"{"members":[\#(users.joined(separator: ","))]}"#)
            try #require(made.status == 201, "\(made)")
        }
        let settings = """
            {"webhooks":{"after":{"url":"\(webhook.url)","secret":"\(Self.secret)"}},
            "push":{"services":{"webhook":{"url":"\(pushes.url)","secret":"\(Self.secret)"}}}}
            """
        let set = try await cluster.admin("PUT", "/v1/settings", settings)
        try #require(set.status == 200, "\(set)")
        let device = try await cluster.nodes[0].api("sleeper").call(
            "PUT", "/v1/push/devices/phone", #"{"service":"webhook","token":"sleeper"}"#)
        try #require(device.status == 200, "\(device)")
    }

    /// Runs the load, and one fault after the other.
    private func run(
        _ load: StormLoad, _ people: [Person], _ cluster: StormCluster, _ generator: inout SplitMix64
    ) async throws {
        let end = ContinuousClock.now + .seconds(Self.seconds)
        let seeds = people.flatMap { _ in [generator.next(), generator.next()] }
        var order: [Fault] = []
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for (index, person) in people.enumerated() {
                for (device, client) in person.devices.enumerated() {
                    let number = 2 * index + device
                    let generator = SplitMix64(seed: seeds[number])
                    if !person.isVisitor {
                        tasks.addTask {
                            try await load.run {
                                try await load.work(
                                    client, number: number, in: person.chats, pause: Self.pause, generator)
                            }
                        }
                    } else if device == 0 {
                        tasks.addTask {
                            try await load.run {
                                try await load.visit(
                                    person.chats[0], client, number: number, pause: 4 * Self.pause, in: cluster,
                                    generator)
                            }
                        }
                    }
                }
            }
            let active = people.indices.flatMap { people[$0].isVisitor ? [2 * $0] : [2 * $0, 2 * $0 + 1] }
            var count = 0
            while count < Self.faults, ContinuousClock.now < end {
                // Most faults hit devices that have not recovered from the one before.
                if count.isMultiple(of: Run.isLong ? 10 : 2) { try await waitForProgress(of: active, load) }
                // Each fault comes once before one comes again.
                if order.isEmpty { order = Fault.allCases.shuffled(using: &generator) }
                let fault = order.removeLast()
                try await Task.sleep(for: generator.milliseconds(0...(Run.isLong ? 8_000 : 500)))
                try await fault.run(in: cluster, &generator)
                count += 1
                report("\(fault), \(load.sent.count) messages")
            }
            try await waitForProgress(of: active, load)
            load.end()
            try await tasks.waitForAll()
        }
    }

    /// Waits until each device has made another change.
    ///
    /// - Throws: The first error of a device.
    private func waitForProgress(of devices: [Int], _ load: StormLoad) async throws {
        let before = load.progress
        try await eventually("each device has made a change", within: 600) {
            try load.check()
            let now = load.progress
            return devices.allSatisfy { now[$0] ?? 0 > before[$0] ?? 0 } ? true : nil
        }
    }

    /// Prints a line, also if the output is a file.
    private func report(_ line: String) {
        print("storm: \(line)")
        fflush(nil)
    }

    // MARK: Checks

    /// Checks what the server has stored, as each user sees it.
    ///
    /// - Returns: The messages of each conversation, as the administrator or one of the two users sees them.
    private func expectMessages(
        _ load: StormLoad, _ people: [Person], _ cluster: StormCluster
    ) async throws -> [ConversationID: [Message]] {
        var stored: [ConversationID: [Message]] = [:]
        for chat in Set(people.flatMap(\.chats)) {
            stored[chat] = try await Device.everything(in: chat, of: cluster.nodes[1])
        }
        for (chat, messages) in stored {
            #expect(messages.map(\.seq) == messages.indices.map { Int64($0) + 1 }, "\(chat) is not dense.")
        }
        let found = Dictionary(grouping: stored.values.joined(), by: \.id)
        let sent = load.sent
        for (id, expected) in sent {
            let messages = found[id] ?? []
            #expect(messages.count == 1, "\(id) is stored \(messages.count) times.")
            guard let message = messages.first else { continue }
            #expect(message.seq == expected.seq && message.sender == expected.sender, "\(message)")
            #expect(message.isDeleted == expected.isRecalled, "\(message)")
            guard !expected.isRecalled else { continue }
            if let text = expected.text { #expect(message.text == text) }
            let reactions = Set(message.actions.flatMap(\.senders))
            #expect(reactions.isSuperset(of: expected.reactions), "\(message)")
        }
        let unknown = found.keys.filter { sent[$0] == nil }
        #expect(unknown.isEmpty, "These messages were stored, but not confirmed: \(unknown)")
        report("\(sent.count) messages")
        return stored
    }

    /// Checks that all devices of a user are whole and equal to a new device, and that their unread counts are right.
    private func expectEqualDevices(
        _ load: StormLoad, _ people: [Person], _ stored: [ConversationID: [Message]], _ cluster: StormCluster,
        _ generator: inout SplitMix64
    ) async throws {
        for person in people {
            let new = try await Device.open(cluster.nodes[2], person.user)
            for chat in person.chats where !person.isVisitor {
                let messages = stored[chat] ?? []
                guard let last = messages.randomElement(using: &generator) else { continue }
                try await eventually("\(person.user) has \(chat)") {
                    try await person.devices[0].recents[chat]?.lastMessage?.id == messages.last?.id ? true : nil
                }
                _ = try await person.devices[0].conversation(chat).messages(from: .earliest).reduce(0) { n, _ in n + 1 }
                try await load.markRead(last, in: chat, by: person.devices[0])
            }
            for chat in person.chats {
                var expected: [Message] = []
                for try await message in new.conversation(chat).messages(from: .earliest, source: .remote) {
                    expected.append(message)
                }
                if !person.isVisitor {
                    #expect(expected.map(\.id) == stored[chat]?.map(\.id), "\(person.user) \(chat)")
                }
                for client in person.devices + [new] {
                    if !person.isVisitor {
                        let mark = load.marks[person.user]?[chat] ?? 0
                        let unread = Self.unread(stored[chat] ?? [], after: mark, of: person.user)
                        try await eventually("\(person.user) has \(unread) unread messages in \(chat)") {
                            try await client.recents[chat]?.unread == unread ? true : nil
                        }
                    }
                    _ = try await eventually { try await Entry(chat, on: client) == Entry(chat, on: new) }
                    #expect(try await Entry(chat, on: client) == Entry(chat, on: new), "of \(person.user)")
                    var shown: [Message] = []
                    // A device without the newest message may also miss an edit of an older one.
                    _ = try await eventually {
                        shown = []
                        for try await message in client.conversation(chat).messages(from: .earliest) {
                            shown.append(message)
                        }
                        return shown == expected
                    }
                    let difference = zip(shown, expected).first { $0 != $1 }
                    #expect(
                        shown == expected,
                        "\(person.user) \(chat): \(shown.count), \(expected.count), \(String(describing: difference))")
                }
            }
            for client in person.devices { #expect(try await client.verifyIntegrity() == []) }
            await new.close()
        }
        try await expectFiles(load, people)
    }

    /// Counts the messages of others after a read position.
    private static func unread(_ messages: [Message], after mark: Seq, of user: UserID) -> Int64 {
        var count: Int64 = 0
        var counted: Int64 = 0
        for message in messages {
            let isCounted = message.countedIndex > counted
            counted = message.countedIndex
            if message.seq > mark, isCounted, message.sender != user, !message.isDeleted { count += 1 }
        }
        return count
    }

    /// Checks that each file of a stored message can be downloaded unchanged, by a device that did not send it.
    private func expectFiles(_ load: StormLoad, _ people: [Person]) async throws {
        var count = 0
        for (id, sent) in load.sent where !sent.isRecalled {
            guard let bytes = sent.file,
                let other = people.first(where: { $0.user != sent.sender && $0.chats.contains(sent.conversation) }),
                !other.isVisitor
            else { continue }
            let client = other.devices[1]
            let message = try await client.conversation(sent.conversation).message(id)
            let media = try #require(message.content?.media)
            #expect(try Data(contentsOf: await client.media.file(for: media)) == bytes)
            count += 1
        }
        report("\(count) files")
    }

    /// Checks that the webhook got each message in order, and that the user without a connection got pushes.
    private func expectEvents(
        _ load: StormLoad, _ stored: [ConversationID: [Message]], _ events: EventLog, _ pushes: WebhookReceiver
    ) async throws {
        let sent = load.sent
        // The events of a message that was recalled before they were delivered have no message.
        let kept = sent.filter { !$0.value.isRecalled }.keys
        try await eventually("the webhook has all messages", within: 300) {
            kept.allSatisfy(events.contains) ? true : nil
        }
        for (chat, seqs) in events.order { #expect(seqs == seqs.sorted(), "The events of \(chat) are not in order.") }
        let groups = stored.filter { $0.key.kind == .group }
        for (group, messages) in groups {
            guard let last = messages.last(where: { sent[$0.id] != nil && !$0.isDeleted }) else { continue }
            try await eventually("the newest message of \(group) was pushed", within: 300) {
                pushes.posts.contains { String(decoding: $0.body, as: UTF8.self).contains("\(last.id)") } ? true : nil
            }
        }
        report("\(events.counts) messages to the webhook, \(pushes.posts.count) pushes")
    }
}

/// What the list of recent conversations shows of one.
private struct Entry: Hashable {
    let last: Message?
    let counts: [Int64]
    let isMarkedUnread: Bool

    init?(_ chat: ConversationID, on client: ChatClient) async throws {
        guard let recent = try await client.recents[chat] else { return nil }
        last = recent.lastMessage
        counts = [recent.unread, recent.mentions, recent.peerReadSeq, recent.peerDeliveredSeq]
        isMarkedUnread = recent.isMarkedUnread
    }
}

/// The messages that a webhook received.
private final class EventLog: Sendable {
    private struct State {
        var known: Set<MessageID> = []
        var order: [ConversationID: [Seq]] = [:]
        var repeated = 0
    }

    private let state = Mutex(State())

    /// The sequence numbers in each conversation, in the order in which they arrived first.
    var order: [ConversationID: [Seq]] { state.withLock { $0.order } }
    var counts: (received: Int, repeated: Int) { state.withLock { ($0.known.count, $0.repeated) } }

    func contains(_ id: MessageID) -> Bool { state.withLock { $0.known.contains(id) } }

    func add(_ post: WebhookReceiver.Post) {
        for event in post.json.objects("events") {
            let data = event["data"] as? [String: Any]
            guard data?["event"] as? String == "message", let message = data?["message"] as? [String: Any],
                let id = try? MessageID(message["id"] as? String ?? ""), let seq = message["seq"] as? Int64,
                let chat = try? ConversationID(message["conversation"] as? String ?? "")
            else { continue }
            state.withLock { state in
                if state.known.insert(id).inserted {
                    state.order[chat, default: []].append(seq)
                } else {
                    state.repeated += 1
                }
            }
        }
    }
}
