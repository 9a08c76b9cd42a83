import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import ScrollbackWire
import Synchronization
import TestSupport
import Testing

/// Tests how pushes are queued, sent and retried.
@Suite("The push queue", .timeLimit(.minutes(5)))
struct PushQueueTests {
    private let services = FakeServices()
    private let group = ConversationID.group("swift")

    private func people(_ count: Int) -> [UserID] { (0..<count).map { UserID(known: "user \($0)") } }

    @Test(
        "Messages that wait together give one push per user: the newest message, or the newest that mentions them"
    )
    func coalesced() async throws {
        let harness = try EngineHarness.pushing(services, users: ["bob", "carol"])
        try harness.make(group, members: ["alice", "bob", "carol"])
        for index in 1...5 { try harness.send("\(index)", to: group, by: "alice") }
        try harness.send(harness.submission("you", mentions: .users(["carol"])), to: group, by: "alice")
        for index in 6...9 { try harness.send("\(index)", to: group, by: "alice") }
        try await harness.pushAll()
        #expect(services.texts == ["bob: alice: 9", "carol: alice mentioned you: you"])
        #expect(services.pushed.map(\.badge) == [10, 10])
    }

    @Test("Pushes pause while the writer of messages is busy, and go out nevertheless")
    func pauses() async throws {
        let harness = try EngineHarness.pushing(services, users: ["bob"])
        try harness.make(group, members: ["alice", "bob"])
        let load = harness.engine.commits.load
        let work = Task {
            while !Task.isCancelled {
                load.add(1_000_000_000)
                try? await Task.sleep(for: .milliseconds(10))
            }
        }
        defer { work.cancel() }
        try #require(try await eventually { load.share == 1 })
        for index in 1...3 {
            try harness.send("\(index)", to: group, by: "alice")
            try await harness.pushAll()
        }
        #expect(services.texts == (1...3).map { "bob: alice: \($0)" })
        #expect(harness.engine.commits.pauses.load(ordering: .relaxed) > 0)
    }

    @Test("The content of encrypted messages is not pushed, searched or filtered", .rows(230))
    func encrypted() async throws {
        let harness = try EngineHarness.pushing(services, users: ["bob"])
        try harness.make(group, members: ["alice", "bob"])
        try harness.set { $0.moderation.bannedWords = .init(words: ["AAAA", "data", "encrypted"], action: .reject) }
        let content = MessageContent.encrypted(
            .text, EncryptedValue(format: 1, key: "2026-11", data: "AAAA"), files: [])
        let taken = try MessageContent(type: .text, json: RawJSON(content.json.text))
        try harness.send(Submission(id: harness.newID(), content: taken), to: group, by: "alice")
        try await harness.pushAll()
        #expect(services.texts == ["bob: alice: New message"])
        for word in ["AAAA", "data", "encrypted", "2026"] {
            let page = try harness.search(SearchQuery(word, in: group), by: Caller(user: "bob"))
            #expect(page.hits.isEmpty, "\(word)")
        }
    }

    @Test(
        "The badge counts the unread messages of all conversations, and the place has the receiver's name for it"
    )
    func badge() async throws {
        let harness = try EngineHarness.pushing(services, users: ["bob"])
        try harness.make(group, members: ["alice", "bob"])
        let seq = try harness.send("1", to: group, by: "alice")
        try harness.send("2", to: group, by: "alice")
        try harness.read(group, to: seq, by: "bob")
        try harness.send("3", to: .direct("bob"), by: "alice")
        try await harness.pushAll()
        #expect(services.pushed.map(\.badge) == [2, 2])
        #expect(Set(services.pushed.map(\.target.conversation)) == [group, .direct("alice")])
        let direct = try #require(services.pushed.first { $0.target.conversation == .direct("alice") })
        #expect(direct.target.seq == 1 && direct.target.sender == "alice" && direct.text.title == "alice")
    }

    @Test(
        "Each member of a large group gets one push, in steps that continue after a crash"
    )
    func largeGroupIsPushedInSteps() async throws {
        let users = people(350)
        let folder = try TemporaryFolder()
        let store = try SQLiteStore(directory: folder.url, options: .init())
        let harness = try EngineHarness.pushing(services, store: store, pacing: .init(answerTimeout: 600), users: users)
        try harness.make(group, members: ["alice"] + users)
        try harness.send("hi", to: group, by: "alice")
        // The server is killed in the second step and has no record of the pushes of that step.
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let count = Mutex(0)
        services.answer { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            if number > 120 {
                start.yield()
                try? await Task.sleep(for: .seconds(60))
            }
            return .sent
        }
        let worker = Task { [engine = harness.engine] in await engine.runPushLoop() }
        for await _ in started { break }
        let walk = try store.read { try $0.pushWalk(of: 1) }
        #expect(walk?.after != nil)
        let before = services.pushed.map(\.target.receiver)
        let again = FakeServices()
        let next = try EngineHarness(store: store, gateway: again)
        try await next.pushAll()
        let after = again.pushed.map(\.target.receiver)
        #expect(Set(before + after) == Set(users))
        // Only members of the interrupted step get the push twice.
        #expect(Set(before).intersection(after).count <= 100)
        #expect(Set(after).count == after.count)
        // Both copies of a push have the same ID.
        let ids = Dictionary(grouping: services.pushed + again.pushed, by: \.target.receiver).mapValues {
            Set($0.map(\.id))
        }
        #expect(ids.values.allSatisfy { $0.count == 1 })
        worker.cancel()
        harness.engine.pushes.loop.wakeUp()
        await worker.value
    }

    @Test("A push that a service can't accept is retried with increasing delays, for a day at most")
    func retries() async throws {
        let harness = try EngineHarness.pushing(services, users: ["bob", "carol"])
        try harness.make(group, members: ["alice", "bob", "carol"])
        services.answer { $0.target.receiver == "bob" ? .later(after: nil, "busy") : .sent }
        try harness.send("hi", to: group, by: "alice")
        try await harness.pushAll()
        #expect(services.texts == ["bob: alice: hi", "carol: alice: hi"])
        for wait in [2.0, 3, 6, 12] {
            services.forget()
            try await harness.pushAll()
            #expect(services.texts == [])
            harness.clock.advance(by: wait)
            try await harness.pushAll()
            #expect(services.texts == ["bob: alice: hi"])
        }
        services.forget()
        services.answer(.later(after: 500, "throttled"))
        harness.clock.advance(by: 1000)
        try await harness.pushAll()
        services.forget()
        harness.clock.advance(by: 499)
        try await harness.pushAll()
        #expect(services.texts == [])
        services.answer(.sent)
        harness.clock.advance(by: 2)
        try await harness.pushAll()
        #expect(services.texts == ["bob: alice: hi"])
        #expect(try harness.engine.pendingPushes().retries == 0)
        // A push is dropped if its message was read before the retry, or after a day.
        services.answer(.later(after: nil, "busy"))
        let seq = try harness.send("read", to: group, by: "alice")
        try await harness.pushAll()
        try harness.read(group, to: seq, by: "bob")
        services.forget()
        harness.clock.advance(by: 100)
        try await harness.pushAll()
        #expect(services.texts == ["carol: alice: read"])
        harness.clock.advance(by: 90_000)
        try await harness.pushAll()
        #expect(try harness.engine.pendingPushes().retries == 0)
        let counts = harness.engine.pushes.counts.all[.apns]
        #expect(counts?[.expired] == 1 && counts?[.sent] == 2 && counts?[.later] == 9)
    }

    @Test("A device that its service no longer knows is removed, unless it was registered again later")
    func unknownDeviceIsRemoved() async throws {
        let harness = try EngineHarness.pushing(services, users: ["bob"])
        try harness.make(group, members: ["alice", "bob"])
        func devices() throws -> Int { try harness.engine.pushDevices(of: "bob", by: Caller(user: "bob")).count }
        services.answer(.gone(since: harness.clock.now - 60))
        try harness.send("hi", to: group, by: "alice")
        try await harness.pushAll()
        #expect(try devices() == 1)
        services.answer(.gone(since: harness.clock.now))
        try harness.send("hi", to: group, by: "alice")
        try await harness.pushAll()
        #expect(try devices() == 0)
        try harness.register("bob")
        services.answer(.refused("BadTopic"))
        try harness.send("hi", to: group, by: "alice")
        try await harness.pushAll()
        #expect(try devices() == 1)
        #expect(harness.engine.pushes.counts.all[.apns]?[.refused] == 1)
    }

    @Test("A push counts once in the metrics, even if its outcome is written twice because a batch failed")
    func countedOnce() async throws {
        struct Broken: Error {}
        let folder = try TemporaryFolder()
        // This store can be read while the writer is busy.
        let store = try SQLiteStore(directory: folder.url)
        let harness = try EngineHarness(store: store, execution: .thread, gateway: services)
        try harness.set { $0.push.services = [.apns: RawJSON(known: #"{"key":"k"}"#)] }
        try harness.register("bob")
        try harness.make(group, members: ["alice", "bob"])
        try harness.send("hi", to: group, by: "alice")
        // The writer is blocked until both changes wait, so that they form one batch.
        let gate = DispatchSemaphore(value: 0)
        harness.engine.commits.submit(for: .server, { _ in gate.wait() }, completion: { _ in })
        #expect(try await eventually { harness.engine.commits.depth == 0 })
        let worker = Task { [engine = harness.engine] in await engine.runPushLoop() }
        #expect(try await eventually { harness.engine.commits.depth == 1 })
        let failed = Mutex(false)
        harness.engine.commits.submit(
            for: .server,
            { _ -> Bool in throw Broken() },
            completion: { result in failed.withLock { $0 = (try? result.get()) == nil } })
        gate.signal()
        #expect(try await eventually { try harness.engine.pendingPushes().waiting == 0 && failed.withLock { $0 } })
        worker.cancel()
        harness.engine.pushes.loop.wakeUp()
        await worker.value
        #expect(services.texts == ["bob: alice: hi"])
        #expect(harness.engine.pushes.counts.all == [.apns: [.sent: 1]])
    }

    @Test("A recall replaces the notification of users who are still offline, and no notification if there was none")
    func recalled() async throws {
        let harness = try EngineHarness.pushing(services, users: ["bob", "carol"])
        try harness.make(group, members: ["alice", "bob", "carol"])
        let sent = try harness.send(harness.submission("oops"), to: group, by: "alice")
        try await harness.pushAll()
        try harness.read(group, to: 1, by: "carol")
        services.forget()
        try harness.delete(sent.id, in: group, by: Caller(user: "alice"))
        try await harness.pushAll()
        #expect(services.texts == ["bob: alice recalled a message"])
        #expect(services.pushed.first?.replaces == true)
        #expect(services.pushed.first?.target.message == sent.id)
        // Other changes to a tombstone are not recalls, and the recall of a silent message sends no push.
        services.forget()
        var reply = harness.submission("re")
        reply.attributes.replyTo = sent.id
        reply.attributes.traits.notifies = false
        try harness.send(reply, to: group, by: "alice")
        try harness.delete(reply.id, in: group, by: Caller(user: "alice"))
        try await harness.pushAll()
        #expect(services.texts == [])
    }

    @Test(
        "A push for a recall has the sender's notification ID, reaches the mentioned members, and is retried",
        .rows(134, 137))
    func recallPushHasTheSendersNotificationID() async throws {
        let harness = try EngineHarness.pushing(services, users: ["bob", "carol"])
        try harness.make(group, members: ["alice", "bob", "carol"])
        try harness.prefer(#"{"level":"mentions"}"#, by: "carol")
        var named = harness.submission("secret", mentions: .users(["carol"], pushText: "secret"))
        named.attributes.push = RawJSON(
            known: """
                {"title":"secret","data":"secret","templateID":"secret","ios":{"collapseID":"c","interruption":"critical",\
                "imageURL":"https://example.com/secret.png"},"android":{"notificationID":"9",\
                "huawei":{"imageURL":"https://example.com/secret.png","channel":"chats"}}}
                """)
        let sent = try harness.send(named, to: group, by: "alice")
        try await harness.pushAll()
        #expect(services.pushed.map(\.target.receiver).sorted() == ["bob", "carol"])
        services.answer(.later(after: nil, "busy"))
        try harness.delete(sent.id, in: group, by: Caller(user: "alice"))
        try await harness.pushAll()
        #expect(try harness.engine.pendingPushes().retries == 2)
        services.forget()
        services.answer(.sent)
        harness.clock.advance(by: 2)
        try await harness.pushAll()
        #expect(services.texts == ["bob: alice recalled a message", "carol: alice recalled a message"])
        for push in services.pushed {
            #expect(push.replaces && push.options.ios?.collapseID == "c" && push.options.android?.notificationID == "9")
            #expect(push.options.android?.huawei?.channel == "chats" && push.options.ios?.interruption == nil)
            #expect(!"\(push)".contains("secret"))
        }
        #expect(try harness.engine.pendingPushes().retries == 0)
    }

    @Test("A recall of custom content is pushed only if the message was pushed", .rows(124, 147))
    func recallOfCustomContentIsPushed() async throws {
        let harness = try EngineHarness.pushing(services, users: ["bob"])
        try harness.make(group, members: ["alice", "bob"])
        for text in [nil, "Poll"] {
            var poll = harness.submission("poll", type: "app:poll")
            poll.attributes.push = text.map { RawJSON(known: #"{"text":"\#($0)"}"#) }
            let sent = try harness.send(poll, to: group, by: "alice")
            try await harness.pushAll()
            try harness.delete(sent.id, in: group, by: Caller(user: "alice"))
            try await harness.pushAll()
        }
        #expect(services.texts == ["bob: Poll", "bob: alice recalled a message"])
    }

    @Test("Two pushes of one conversation are at least the configured interval apart")
    func interval() async throws {
        let harness = try EngineHarness.pushing(services, users: ["bob"])
        try harness.make(group, members: ["alice", "bob"])
        try harness.set { $0.push.intervalSeconds = 30 }
        let worker = Task { [engine = harness.engine] in await engine.runPushLoop() }
        try harness.send("1", to: group, by: "alice")
        #expect(try await eventually { services.texts == ["bob: alice: 1"] })
        try harness.send("2", to: group, by: "alice")
        try harness.send("3", to: group, by: "alice")
        try await Task.sleep(for: .milliseconds(100))
        #expect(services.texts.count == 1)
        // The end of the first push may be recorded only now, so that the interval begins here.
        #expect(
            try await eventually {
                harness.clock.advance(by: 31)
                harness.engine.pushes.loop.wakeUp()
                return services.texts == ["bob: alice: 1", "bob: alice: 3"]
            })
        worker.cancel()
        harness.engine.pushes.loop.wakeUp()
        await worker.value
    }

    @Test("Push settings never show secrets, and removing the last service drops queued pushes")
    func settings() async throws {
        let harness = try EngineHarness(gateway: services)
        try harness.make(group, members: ["alice", "bob"])
        try harness.register("bob")
        try harness.send("hi", to: group, by: "alice")
        #expect(try harness.engine.pendingPushes().waiting == 0)
        let credentials = RawJSON(known: #"{"key":"secret","topic":"com.example.app"}"#)
        let settings = try harness.set { $0.push.services = [.apns: credentials] }
        var writer = JSONWriter()
        writer.object { settings.writeMembers(to: &$0) }
        #expect(!writer.text.contains("secret"))
        #expect(writer.text.contains(#""apns":{"isSet":true,"source":"settings","topic":"com.example.app"}"#))
        #expect(
            refusal { try harness.set { $0.push.services[.apns] = RawJSON(known: #"{"key":"wrong"}"#) } }?.code
                == .invalidParameter)
        #expect(harness.engine.settings.push.services[.apns] == credentials)
        // A new engine on the same store has the same credentials.
        let next = try EngineHarness(store: harness.store, gateway: services)
        #expect(next.engine.settings.push.services[.apns] == credentials)
        try harness.send("hi", to: group, by: "alice")
        #expect(try harness.engine.pendingPushes().waiting == 1)
        try harness.set { $0.push.services = [:] }
        #expect(try harness.engine.pendingPushes().waiting == 0)
    }

    @Test("A service that hangs for one member delays no other member and no other conversation")
    func hangingServiceDelaysNoOtherMember() async throws {
        let harness = try EngineHarness.pushing(services, users: ["bob", "carol", "dave"])
        try harness.make(group, members: ["alice", "bob", "dave"])
        services.answer { notification in
            if notification.target.receiver == "bob" { try? await Task.sleep(for: .seconds(60)) }
            return .sent
        }
        let worker = Task { [engine = harness.engine] in await engine.runPushLoop() }
        try harness.send("hi", to: group, by: "alice")
        try harness.send("hi", to: .direct("carol"), by: "alice")
        #expect(
            try await eventually { services.texts.contains("carol: hi") && services.texts.contains("dave: alice: hi") })
        try harness.send("there", to: group, by: "alice")
        #expect(try await eventually { services.texts.contains("dave: alice: there") })
        worker.cancel()
        harness.engine.pushes.loop.wakeUp()
        await worker.value
    }

    @Test("Late answers keep no page open, and after a crash only the unanswered pushes are repeated")
    func lateAnswersKeepNoPageOpen() async throws {
        let users = people(150)
        let harness = try EngineHarness.pushing(services, pacing: .init(answerTimeout: 0.05), users: users)
        try harness.make(group, members: ["alice"] + users)
        let late = Set(users.prefix(90).filter { $0.text.hasSuffix("7") })
        let isOver = Mutex(false)
        services.answer { notification in
            while late.contains(notification.target.receiver), !isOver.withLock(\.self), !Task.isCancelled {
                try? await Task.sleep(for: .milliseconds(5))
            }
            return .sent
        }
        let worker = Task { [engine = harness.engine] in await engine.runPushLoop() }
        try harness.send("hi", to: group, by: "alice")
        #expect(try await eventually { try harness.engine.pendingPushes() == (0, Int64(late.count)) })
        #expect(Set(services.pushed.map(\.target.receiver)) == Set(users))
        // Pushes in flight are not retried.
        harness.clock.advance(by: 9)
        let now = harness.clock.now
        #expect(
            try await eventually { try harness.store.read { try $0.pushRetries(dueBy: now + 9, limit: 1).isEmpty } })
        harness.clock.advance(by: 9)
        harness.engine.pushes.loop.wakeUp()
        try await Task.sleep(for: .milliseconds(200))
        #expect(services.pushed.count == users.count)

        // After a crash, the next server retries them when their time is over.
        let again = FakeServices()
        let next = try EngineHarness(store: harness.store, gateway: again)
        next.clock.advance(by: 18)
        try await next.pushAll()
        #expect(again.pushed.isEmpty)
        next.clock.advance(by: 11)
        let tried = try next.store.read { try $0.pushRetries(dueBy: next.clock.now, limit: 100) }
        #expect(Set(tried.map(\.user)) == late && tried.count == late.count)

        // The first server is still running and gets its answers.
        isOver.withLock { $0 = true }
        #expect(try await eventually { try harness.engine.pendingPushes() == (0, 0) })
        #expect(harness.engine.pushes.counts.all[.apns]?[.sent] == users.count)
        worker.cancel()
        harness.engine.pushes.loop.wakeUp()
        await worker.value
    }
}
