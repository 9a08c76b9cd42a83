import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import ScrollbackWire
import Synchronization
import Testing

/// How what is to be pushed waits, is handed out, and is tried again.
@Suite("The queue of pushes", .timeLimit(.minutes(5)))
struct PushQueueTests {
    private let services = FakeServices()
    private let group = ConversationID.group("swift")

    private func people(_ count: Int) -> [UserID] { (0..<count).map { UserID(known: "user \($0)") } }

    @Test(
        "What came while nothing was handed out is one push for each person: the newest, or the newest that mentions them"
    )
    func coalesced() async throws {
        let world = try World.pushing(services, users: ["bob", "carol"])
        try world.make(group, members: ["alice", "bob", "carol"])
        for index in 1...5 { try world.send("\(index)", to: group, by: "alice") }
        try world.send(world.submission("you", mentions: .users(["carol"])), to: group, by: "alice")
        for index in 6...9 { try world.send("\(index)", to: group, by: "alice") }
        try await world.pushAll()
        #expect(services.texts == ["bob: alice: 9", "carol: alice mentioned you: you"])
        #expect(services.pushed.map(\.badge) == [10, 10])
    }

    @Test("Nothing of what is encrypted is pushed, searched or screened", .rows(230))
    func encrypted() async throws {
        let world = try World.pushing(services, users: ["bob"])
        try world.make(group, members: ["alice", "bob"])
        try world.set { $0.manners.bannedWords = .init(words: ["AAAA", "data", "encrypted"], action: .reject) }
        let content = MessageContent.encrypted(
            .text, EncryptedValue(format: 1, key: "2026-11", data: "AAAA"), files: [])
        let taken = try MessageContent(type: .text, json: RawJSON(content.json.text))
        try world.send(Submission(id: world.newID(), content: taken), to: group, by: "alice")
        try await world.pushAll()
        #expect(services.texts == ["bob: alice: New message"])
        for word in ["AAAA", "data", "encrypted", "2026"] {
            let page = try world.search(SearchQuery(word, in: group), by: Caller(user: "bob"))
            #expect(page.hits.isEmpty, "\(word)")
        }
    }

    @Test(
        "The badge is what the receiver has not read in all their conversations, and the place is named as they name it"
    )
    func badge() async throws {
        let world = try World.pushing(services, users: ["bob"])
        try world.make(group, members: ["alice", "bob"])
        let seq = try world.send("1", to: group, by: "alice")
        try world.send("2", to: group, by: "alice")
        try world.read(group, to: seq, by: "bob")
        try world.send("3", to: .direct("bob"), by: "alice")
        try await world.pushAll()
        #expect(services.pushed.map(\.badge) == [2, 2])
        #expect(Set(services.pushed.map(\.place.conversation)) == [group, .direct("alice")])
        let direct = try #require(services.pushed.first { $0.place.conversation == .direct("alice") })
        #expect(direct.place.seq == 1 && direct.place.sender == "alice" && direct.text.title == "alice")
    }

    @Test(
        "Everybody of a large group is pushed to once, in steps; a server that is killed between two goes on where it was"
    )
    func walks() async throws {
        let users = people(350)
        let folder = FileManager.default.temporaryDirectory.appending(component: "scrollback-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try SQLiteStore(directory: folder, options: .init())
        let world = try World.pushing(services, store: store, pacing: .init(patience: 600), users: users)
        try world.make(group, members: ["alice"] + users)
        try world.send("hi", to: group, by: "alice")
        // Killed in the second step: what it was handing over it does not know of.
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
        let worker = Task { [engine = world.engine] in await engine.push() }
        for await _ in started { break }
        let walk = try store.read { try $0.pushWalk(of: 1) }
        #expect(walk?.after != nil)
        let before = services.pushed.map(\.place.receiver)
        let again = FakeServices()
        let next = try World(store: store, gateway: again)
        try await next.pushAll()
        let after = again.pushed.map(\.place.receiver)
        #expect(Set(before + after) == Set(users))
        // Twice only those of the step that was under way.
        #expect(Set(before).intersection(after).count <= 100)
        #expect(Set(after).count == after.count)
        // Who gets it twice can tell.
        let ids = Dictionary(grouping: services.pushed + again.pushed, by: \.place.receiver).mapValues {
            Set($0.map(\.id))
        }
        #expect(ids.values.allSatisfy { $0.count == 1 })
        worker.cancel()
        world.engine.pushes.begin()
        await worker.value
    }

    @Test("What a service can't take is tried again, later and later, as long as it is wanted; for a day")
    func retries() async throws {
        let world = try World.pushing(services, users: ["bob", "carol"])
        try world.make(group, members: ["alice", "bob", "carol"])
        services.answer { $0.place.receiver == "bob" ? .later(after: nil, "busy") : .sent }
        try world.send("hi", to: group, by: "alice")
        try await world.pushAll()
        #expect(services.texts == ["bob: alice: hi", "carol: alice: hi"])
        for wait in [2.0, 3, 6, 12] {
            services.forget()
            try await world.pushAll()
            #expect(services.texts == [])
            world.clock.advance(by: wait)
            try await world.pushAll()
            #expect(services.texts == ["bob: alice: hi"])
        }
        services.forget()
        services.answer(.later(after: 500, "let me be"))
        world.clock.advance(by: 1000)
        try await world.pushAll()
        services.forget()
        world.clock.advance(by: 499)
        try await world.pushAll()
        #expect(services.texts == [])
        services.answer(.sent)
        world.clock.advance(by: 2)
        try await world.pushAll()
        #expect(services.texts == ["bob: alice: hi"])
        #expect(try world.engine.waitingPushes().retries == 0)
        // Read before its turn it is wanted no more; after a day neither.
        services.answer(.later(after: nil, "busy"))
        let seq = try world.send("read", to: group, by: "alice")
        try await world.pushAll()
        try world.read(group, to: seq, by: "bob")
        services.forget()
        world.clock.advance(by: 100)
        try await world.pushAll()
        #expect(services.texts == ["carol: alice: read"])
        world.clock.advance(by: 90_000)
        try await world.pushAll()
        #expect(try world.engine.waitingPushes().retries == 0)
        let counts = world.engine.pushes.counts.all[.apns]
        #expect(counts?[.expired] == 1 && counts?[.sent] == 2 && counts?[.later] == 9)
    }

    @Test("A device that its service no longer knows is forgotten, unless it was registered again since")
    func gone() async throws {
        let world = try World.pushing(services, users: ["bob"])
        try world.make(group, members: ["alice", "bob"])
        func devices() throws -> Int { try world.engine.pushDevices(of: "bob", by: Caller(user: "bob")).count }
        services.answer(.gone(since: world.clock.now - 60))
        try world.send("hi", to: group, by: "alice")
        try await world.pushAll()
        #expect(try devices() == 1)
        services.answer(.gone(since: world.clock.now))
        try world.send("hi", to: group, by: "alice")
        try await world.pushAll()
        #expect(try devices() == 0)
        try world.register("bob")
        services.answer(.refused("BadTopic"))
        try world.send("hi", to: group, by: "alice")
        try await world.pushAll()
        #expect(try devices() == 1)
        #expect(world.engine.pushes.counts.all[.apns]?[.refused] == 1)
    }

    @Test("A push is counted once, though what came of it is written down twice: with it another write failed")
    func countedOnce() async throws {
        struct Broken: Error {}
        let folder = FileManager.default.temporaryDirectory.appending(component: "scrollback-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        // Read while the writer is busy.
        let store = try SQLiteStore(directory: folder)
        let world = try World(store: store, execution: .thread, gateway: services)
        try world.set { $0.push.services = [.apns: RawJSON(known: #"{"key":"k"}"#)] }
        try world.register("bob")
        try world.make(group, members: ["alice", "bob"])
        try world.send("hi", to: group, by: "alice")
        // The writer is kept busy until both wait, which it takes up together.
        let gate = DispatchSemaphore(value: 0)
        world.engine.log.submit({ _ in gate.wait() }, completion: { _ in })
        #expect(await eventually { world.engine.log.depth == 0 })
        let worker = Task { [engine = world.engine] in await engine.push() }
        #expect(await eventually { world.engine.log.depth == 1 })
        let failed = Mutex(false)
        world.engine.log.submit(
            { _ -> Bool in throw Broken() },
            completion: { result in failed.withLock { $0 = (try? result.get()) == nil } })
        gate.signal()
        #expect(await eventually { try world.engine.waitingPushes().waiting == 0 && failed.withLock { $0 } })
        worker.cancel()
        world.engine.pushes.begin()
        await worker.value
        #expect(services.texts == ["bob: alice: hi"])
        #expect(world.engine.pushes.counts.all == [.apns: [.sent: 1]])
    }

    @Test("A recalled message's notification is replaced, for who is still away; never pushed, nothing is said of it")
    func recalled() async throws {
        let world = try World.pushing(services, users: ["bob", "carol"])
        try world.make(group, members: ["alice", "bob", "carol"])
        let sent = try world.send(world.submission("oops"), to: group, by: "alice")
        try await world.pushAll()
        try world.read(group, to: 1, by: "carol")
        services.forget()
        try world.delete(sent.id, in: group, by: Caller(user: "alice"))
        try await world.pushAll()
        #expect(services.texts == ["bob: alice recalled a message"])
        #expect(services.pushed.first?.replaces == true)
        #expect(services.pushed.first?.place.message == sent.id)
        // What else changes a stub is no recall, nor what nobody was told of.
        services.forget()
        var reply = world.submission("re")
        reply.attributes.replyTo = sent.id
        reply.attributes.traits.notifies = false
        try world.send(reply, to: group, by: "alice")
        try world.delete(reply.id, in: group, by: Caller(user: "alice"))
        try await world.pushAll()
        #expect(services.texts == [])
    }

    @Test(
        "A recall finds its notification, by the name its sender gave it and with those it mentioned; it is tried again",
        .rows(134, 137))
    func recallFinds() async throws {
        let world = try World.pushing(services, users: ["bob", "carol"])
        try world.make(group, members: ["alice", "bob", "carol"])
        try world.prefer(#"{"level":"mentions"}"#, by: "carol")
        var named = world.submission("secret", mentions: .users(["carol"], pushText: "secret"))
        named.attributes.push = RawJSON(
            known: """
                {"title":"secret","data":"secret","templateID":"secret","ios":{"collapseID":"c","interruption":"critical",\
                "imageURL":"https://example.com/secret.png"},"android":{"notificationID":"9",\
                "huawei":{"imageURL":"https://example.com/secret.png","channel":"chats"}}}
                """)
        let sent = try world.send(named, to: group, by: "alice")
        try await world.pushAll()
        #expect(services.pushed.map(\.place.receiver).sorted() == ["bob", "carol"])
        services.answer(.later(after: nil, "busy"))
        try world.delete(sent.id, in: group, by: Caller(user: "alice"))
        try await world.pushAll()
        #expect(try world.engine.waitingPushes().retries == 2)
        services.forget()
        services.answer(.sent)
        world.clock.advance(by: 2)
        try await world.pushAll()
        #expect(services.texts == ["bob: alice recalled a message", "carol: alice recalled a message"])
        for push in services.pushed {
            #expect(push.replaces && push.options.ios?.collapseID == "c" && push.options.android?.notificationID == "9")
            #expect(push.options.android?.huawei?.channel == "chats" && push.options.ios?.interruption == nil)
            #expect(!"\(push)".contains("secret"))
        }
        #expect(try world.engine.waitingPushes().retries == 0)
    }

    @Test("A type of an application's own is told of when it is recalled, where it was pushed", .rows(124, 147))
    func customRecalled() async throws {
        let world = try World.pushing(services, users: ["bob"])
        try world.make(group, members: ["alice", "bob"])
        for text in [nil, "Poll"] {
            var poll = world.submission("poll", type: "app:poll")
            poll.attributes.push = text.map { RawJSON(known: #"{"text":"\#($0)"}"#) }
            let sent = try world.send(poll, to: group, by: "alice")
            try await world.pushAll()
            try world.delete(sent.id, in: group, by: Caller(user: "alice"))
            try await world.pushAll()
        }
        #expect(services.texts == ["bob: Poll", "bob: alice recalled a message"])
    }

    @Test("Between two pushes of one conversation lies what the operator set")
    func interval() async throws {
        let world = try World.pushing(services, users: ["bob"])
        try world.make(group, members: ["alice", "bob"])
        try world.set { $0.push.intervalSeconds = 30 }
        let worker = Task { [engine = world.engine] in await engine.push() }
        try world.send("1", to: group, by: "alice")
        #expect(await eventually { services.texts == ["bob: alice: 1"] })
        try world.send("2", to: group, by: "alice")
        try world.send("3", to: group, by: "alice")
        try await Task.sleep(for: .milliseconds(100))
        #expect(services.texts.count == 1)
        // The end of the first may be noted only now, and the time be counted from here.
        #expect(
            await eventually {
                world.clock.advance(by: 31)
                world.engine.pushes.begin()
                return services.texts == ["bob: alice: 1", "bob: alice: 3"]
            })
        worker.cancel()
        world.engine.pushes.begin()
        await worker.value
    }

    @Test("Without a service nothing waits; taken away, what waits goes; its secrets are shown to nobody")
    func settings() async throws {
        let world = try World(gateway: services)
        try world.make(group, members: ["alice", "bob"])
        try world.register("bob")
        try world.send("hi", to: group, by: "alice")
        #expect(try world.engine.waitingPushes().waiting == 0)
        let credentials = RawJSON(known: #"{"key":"secret","topic":"com.example.app"}"#)
        let settings = try world.set { $0.push.services = [.apns: credentials] }
        var writer = JSONWriter()
        writer.object { settings.writeMembers(to: &$0) }
        #expect(!writer.text.contains("secret"))
        #expect(writer.text.contains(#""apns":{"isSet":true,"source":"settings","topic":"com.example.app"}"#))
        #expect(
            refusal { try world.set { $0.push.services[.apns] = RawJSON(known: #"{"key":"wrong"}"#) } }?.code
                == .invalidParameter)
        #expect(world.engine.settings.push.services[.apns] == credentials)
        // The engine that comes after it knows them still.
        let next = try World(store: world.store, gateway: services)
        #expect(next.engine.settings.push.services[.apns] == credentials)
        try world.send("hi", to: group, by: "alice")
        #expect(try world.engine.waitingPushes().waiting == 1)
        try world.set { $0.push.services = [:] }
        #expect(try world.engine.waitingPushes().waiting == 0)
    }

    @Test("A service that hangs for one member keeps nobody else waiting, in this conversation or another")
    func hangs() async throws {
        let world = try World.pushing(services, users: ["bob", "carol", "dave"])
        try world.make(group, members: ["alice", "bob", "dave"])
        services.answer { notification in
            if notification.place.receiver == "bob" { try? await Task.sleep(for: .seconds(60)) }
            return .sent
        }
        let worker = Task { [engine = world.engine] in await engine.push() }
        try world.send("hi", to: group, by: "alice")
        try world.send("hi", to: .direct("carol"), by: "alice")
        #expect(await eventually { services.texts.contains("carol: hi") && services.texts.contains("dave: alice: hi") })
        try world.send("there", to: group, by: "alice")
        #expect(await eventually { services.texts.contains("dave: alice: there") })
        worker.cancel()
        world.engine.pushes.begin()
        await worker.value
    }

    @Test("Whose answer is late holds no page open: a kill repeats their pushes and nobody else's, an answer ends them")
    func late() async throws {
        let users = people(150)
        let world = try World.pushing(services, pacing: .init(patience: 0.05), users: users)
        try world.make(group, members: ["alice"] + users)
        let late = Set(users.prefix(90).filter { $0.text.hasSuffix("7") })
        let isOver = Mutex(false)
        services.answer { notification in
            while late.contains(notification.place.receiver), !isOver.withLock(\.self), !Task.isCancelled {
                try? await Task.sleep(for: .milliseconds(5))
            }
            return .sent
        }
        let worker = Task { [engine = world.engine] in await engine.push() }
        try world.send("hi", to: group, by: "alice")
        #expect(await eventually { try world.engine.waitingPushes() == (0, Int64(late.count)) })
        #expect(Set(services.pushed.map(\.place.receiver)) == Set(users))
        // As long as they are under way nobody tries them again.
        world.clock.advance(by: 9)
        let now = world.clock.now
        #expect(await eventually { try world.store.read { try $0.pushRetries(dueBy: now + 9, limit: 1).isEmpty } })
        world.clock.advance(by: 9)
        world.engine.pushes.begin()
        try await Task.sleep(for: .milliseconds(200))
        #expect(services.pushed.count == users.count)

        // The server was killed: who comes after it tries them once their time is over.
        let again = FakeServices()
        let next = try World(store: world.store, gateway: again)
        next.clock.advance(by: 18)
        try await next.pushAll()
        #expect(again.pushed.isEmpty)
        next.clock.advance(by: 11)
        let tried = try next.store.read { try $0.pushRetries(dueBy: next.clock.now, limit: 100) }
        #expect(Set(tried.map(\.user)) == late && tried.count == late.count)

        // It was not, after all.
        isOver.withLock { $0 = true }
        #expect(await eventually { try world.engine.waitingPushes() == (0, 0) })
        #expect(world.engine.pushes.counts.all[.apns]?[.sent] == users.count)
        worker.cancel()
        world.engine.pushes.begin()
        await worker.value
    }
}

private func eventually(_ isSo: () throws -> Bool) async -> Bool {
    for _ in 0..<2_000 {
        if (try? isSo()) == true { return true }
        try? await Task.sleep(for: .milliseconds(5))
    }
    return false
}
