import Crypto
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization
import Testing

@Suite("Webhooks")
struct WebhookTests {
    private let group = ConversationID.group("g")
    private let secret = "a secret of twenty-six bytes"

    private func world(_ program: FakeProgram, _ webhooks: WebhookSettings) throws -> World {
        let world = try World(webhooks: program)
        try world.make(group, members: ["alice", "bob"])
        try world.set { $0.manners.webhooks = webhooks }
        return world
    }

    private func before(
        _ program: FakeProgram, _ onFailure: WebhookSettings.Before.OnFailure = .allow
    ) throws -> World {
        try world(
            program, .init(before: .init(url: "http://hook.invalid/a", secret: secret, onFailure: onFailure)))
    }

    private func after(_ program: FakeProgram) throws -> World {
        try world(program, .init(after: .init(url: "http://hook.invalid/b", secret: secret)))
    }

    private func eventually(_ condition: () throws -> Bool) async throws {
        for _ in 0..<1000 {
            if try condition() { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        Issue.record("The condition was not met in time.")
    }

    // MARK: Webhooks before storing

    @Test("The webhook is called before a message is stored, and can allow, reject or replace it")
    func asked() async throws {
        let program = FakeProgram()
        let world = try before(program)
        let allowed = try await world.sent(world.submission("fine", mentions: .users(["bob"])), to: group, by: "alice")
        #expect(allowed.outcome == .committed && allowed.content == nil)
        let request = try #require(program.requests.first)
        let id = allowed.id.description
        #expect(
            request.text
                == #"{"event":"message","conversation":"group:g","sender":"alice","id":"\#(id)","type":"text","#
                + #""content":{"text":"fine"},"mentions":{"users":["bob"]}}"#)
        let delivery = try #require(request.header("Scrollback-Delivery"))
        #expect(request.timeout == .seconds(2))
        program.answer(#"{"action":"reject","reason":"not here"}"#)
        let error = await refused { try await world.sent("no", to: group, by: "alice") }
        #expect(error?.code == .contentRejected && error?.message == "not here")
        program.answer(#"{"action":"replace","content":{"text":"better"}}"#)
        let message = world.submission("worse")
        #expect(try await world.sent(message, to: group, by: "alice").content?.text == #"{"text":"better"}"#)
        // A retry of a stored message gets the first result, whatever the webhook answers.
        program.answer(#"{"action":"reject"}"#)
        #expect(try await world.sent(message, to: group, by: "alice").outcome == .duplicate)
        #expect(try world.page(of: group, by: "bob").texts == ["better", "fine"])
        // Each call has its own delivery ID, even for the same message, because its content can differ.
        #expect(Set(program.requests.map { $0.header("Scrollback-Delivery") }).count == 4 && !delivery.isEmpty)
    }

    @Test("The webhook is not called for messages and edits that the sender may not send")
    func notAsked() async throws {
        let program = FakeProgram()
        let world = try before(program)
        let message = world.submission("fine")
        try await world.sent(message, to: group, by: "alice")
        #expect(program.requests.count == 1)
        try world.block("alice", by: "bob")
        try world.mute("bob", .forever, in: group)
        func code(_ body: () async throws -> Void) async -> ChatError.Code? { await refused(body)?.code }
        #expect(await code { try await world.sent(to: group, by: "mallory") } == .unknownConversation)
        #expect(await code { try await world.sent(to: group, by: "bob") } == .muted)
        #expect(await code { try await world.sent(to: .direct("bob"), by: "alice") } == .blocked)
        #expect(
            await code { try await world.edited(message.id, in: group, "x", by: Caller(user: "bob")) } == .forbidden)
        #expect(
            await code { try await world.edited(world.newID(), in: group, "x", by: Caller(user: "alice")) }
                == .unknownMessage)
        #expect(program.requests.count == 1)
        // A retry of a stored message still succeeds.
        try world.mute("alice", .forever, in: group)
        #expect(try await world.sent(message, to: group, by: "alice").outcome == .duplicate)
    }

    @Test("The sender of an edit must be able to read the files in the webhook's replacement")
    func replacedFiles() async throws {
        let program = FakeProgram()
        let world = try before(program)
        let mine = try await world.upload([1, 2, 3], to: group, by: "alice")
        let theirs = try await world.upload([4, 5, 6], to: group, by: "bob")
        let message = try world.submission(of: mine)
        try await world.sent(message, to: group, by: "alice")
        program.answer(#"{"action":"replace","content":{"media":"\#(theirs.id)"}}"#)
        let edit = MessageEdit(message.content)
        let result: Result<Message, ChatError> = await withCheckedContinuation { continuation in
            world.engine.edit(message.id, in: group, edit, by: Caller(user: "alice")) {
                continuation.resume(returning: $0)
            }
        }
        #expect(throws: ChatError.self) { try result.get() }
        #expect(try world.page(of: group, by: "bob").messages[0].content?.json.text.contains("\(mine.id)") == true)
    }

    @Test("An edit is sent to the webhook like a message")
    func edits() async throws {
        let program = FakeProgram()
        let world = try before(program)
        let message = world.submission("fine")
        try await world.sent(message, to: group, by: "alice")
        program.answer(#"{"action":"reject"}"#)
        #expect(
            await refused { try await world.edited(message.id, in: group, "no", by: Caller(user: "alice")) }?.code
                == .contentRejected)
        program.answer(#"{"action":"replace","content":{"text":"yes"}}"#)
        #expect(try await world.edited(message.id, in: group, "no", by: Caller(user: "alice")).text == "yes")
        #expect(program.requests.last?.text.contains(#""event":"edit""#) == true)
    }

    @Test("The signature is the HMAC of the time and the body")
    func signature() async throws {
        let program = FakeProgram()
        let world = try before(program)
        try await world.sent(to: group, by: "alice")
        let request = try #require(program.requests.first)
        let header = try #require(request.header("Scrollback-Signature"))
        let parts = header.split(separator: ",").map(String.init)
        let time = String(parts[0].dropFirst(2))
        #expect(time == String(Int(world.clock.now.timeIntervalSince1970)))
        let code = HMAC<SHA256>.authenticationCode(
            for: Data("\(time).".utf8) + Data(request.body), using: SymmetricKey(data: Data(secret.utf8)))
        #expect(parts[1] == "v1=" + code.map { String(format: "%02x", $0) }.joined())
    }

    @Test(
        "The setting `onFailure` applies if the webhook's answer is invalid",
        arguments: [
            ("", 200), ("[]", 200), (#"{"action":"perhaps"}"#, 200), (#"{"action":"replace"}"#, 200),
            (#"{"action":"replace","content":{"no":"text"}}"#, 200), (#"{"action":"reject"}"#, 500), ("", 302),
        ])
    func nonsense(_ text: String, _ status: Int) async throws {
        for onFailure in WebhookSettings.Before.OnFailure.allCases {
            let program = FakeProgram()
            let world = try before(program, onFailure)
            program.answer(text, status: status)
            let error = await refused { try await world.sent(to: group, by: "alice") }
            switch onFailure {
            case .allow: #expect(error == nil)
            case .reject: #expect(error?.code == .overloaded && error?.isTemporary == true)
            }
        }
    }

    @Test("Messages of a connection to a conversation stay in order, even if the first webhook answer is the slowest")
    func order() async throws {
        let program = FakeProgram()
        let world = try before(program)
        try world.make(.group("other"), members: ["alice"])
        let gate = AsyncStream.makeStream(of: Void.self)
        program.answer { request in
            if request.text.contains("slow") { for await _ in gate.stream { break } }
            let action = request.text.contains("bad") ? "reject" : "allow"
            return WebhookResponse(status: 200, body: Array(#"{"action":"\#(action)"}"#.utf8))
        }
        let doors = Doors(world)
        let (alice, bob) = (doors.device("alice"), doors.device("bob"))
        let texts = ["slow", "two", "bad", "four"]
        let refs = texts.map { alice.request(SendMessage(conversation: group, submission: world.submission($0))) }
        let elsewhere = alice.request(
            SendMessage(conversation: .group("other"), submission: world.submission("elsewhere")))
        bob.request(SendMessage(conversation: group, submission: world.submission("of bob")))
        try await eventually {
            try alice.outlet.frames.contains { if case .result(elsewhere, _) = $0 { true } else { false } }
        }
        try await eventually { try world.head(group, "bob").head == 1 }
        #expect(try world.page(of: group, by: "bob").texts == ["of bob"])
        gate.continuation.yield()
        try await eventually { try world.head(group, "bob").head == 4 }
        #expect(try world.page(of: group, by: "bob").texts == ["four", "two", "slow", "of bob"])
        try await eventually { try alice.error(refs[2])?.code == .contentRejected }
    }

    @Test("Messages that wait for the webhook are stored before shutdown completes")
    func settles() async throws {
        let program = FakeProgram()
        let world = try before(program)
        let gate = AsyncStream.makeStream(of: Void.self)
        program.answer { _ in
            for await _ in gate.stream { break }
            return WebhookResponse(status: 200, body: Array(#"{"action":"allow"}"#.utf8))
        }
        world.engine.send(world.submission(), to: group, by: Caller(user: "alice")) { _ in }
        let heads = Mutex<[Seq]>([])
        world.engine.settle { _ in heads.withLock { $0.append((try? world.head(group, "bob").head) ?? -1) } }
        #expect(heads.withLock { $0 } == [])
        gate.continuation.yield()
        try await eventually { heads.withLock { $0 } == [1] }
    }

    @Test("Shutdown does not wait for messages that arrive after it began")
    func settlesUnderLoad() {
        let turnstile = Turnstile()
        let lane = Turnstile.Lane(session: Origin(NSObject()), conversation: group)
        let steps = Mutex<[String]>([])
        let first = turnstile.enter(lane), second = turnstile.enter(nil)
        turnstile.whenEmpty { steps.withLock { $0.append("settled") } }
        let third = turnstile.enter(lane)
        third? { steps.withLock { $0.append("third") } }
        second? { steps.withLock { $0.append("second") } }
        #expect(steps.withLock { $0 } == ["second"])
        first? { steps.withLock { $0.append("first") } }
        #expect(steps.withLock { $0 } == ["second", "first", "settled", "third"])
        #expect(turnstile.isEmpty)
        turnstile.whenEmpty { steps.withLock { $0.append("at once") } }
        #expect(steps.withLock { $0.last } == "at once")
    }

    @Test("The number of messages that wait for the webhook is limited, and more are accepted when some are done")
    func full() {
        let turnstile = Turnstile()
        let all = (0..<Turnstile.capacity).compactMap { _ in turnstile.enter(nil) }
        #expect(all.count == Turnstile.capacity && turnstile.enter(nil) == nil)
        let first = all[0]
        first {}
        #expect(turnstile.enter(nil) != nil)
    }

    // MARK: Webhooks after storing

    @Test("Messages and changes are delivered in order and retried until the webhook accepts them")
    func told() async throws {
        let program = FakeProgram()
        program.answer("", status: 500)
        let world = try after(program)
        let message = world.submission("one")
        try world.send(message, to: group, by: "alice")
        try world.edit(message.id, in: group, "uno", by: Caller(user: "alice"))
        try world.send("two", to: group, by: "bob")
        #expect(try world.store.read { try $0.deliveryCount() } == 3)
        let delivering = Task { await world.engine.deliver() }
        try await eventually { !program.requests.isEmpty }
        program.answer("")
        try await eventually {
            world.clock.advance(by: 1)
            return world.engine.waitingDeliveries == 0
        }
        #expect(try world.store.read { try $0.deliveryCount() } == 0)
        let first = try #require(program.requests.first), last = try #require(program.requests.last)
        #expect(first.body == last.body)
        #expect(first.header("Scrollback-Delivery") == last.header("Scrollback-Delivery"))
        let events = try #require(
            (try JSONSerialization.jsonObject(with: Data(last.body)) as? [String: Any])?["events"] as? [[String: Any]])
        let told = events.map { event -> String in
            let data = event["data"] as? [String: Any]
            let message = data?["message"] as? [String: Any]
            return "\(data?["event"] ?? "") \((message?["content"] as? [String: Any])?["text"] ?? "")"
        }
        #expect(told == ["message one", "changed uno", "message two"])
        #expect(Set(events.compactMap { $0["delivery"] as? String }).count == 3)
        delivering.cancel()
        await delivering.value
    }

    @Test("A later attempt with more events has another delivery ID")
    func names() async throws {
        let program = FakeProgram()
        program.answer("", status: 500)
        let world = try after(program)
        try world.send("one", to: group, by: "alice")
        let delivering = Task { await world.engine.deliver() }
        try await eventually { !program.requests.isEmpty }
        try world.send("two", to: group, by: "alice")
        try await eventually {
            world.clock.advance(by: 1)
            return program.requests.last?.text.contains("two") == true
        }
        #expect(world.engine.waitingDeliveries == 2)
        #expect(try World(store: world.store).engine.waitingDeliveries == 2)
        let names = Dictionary(grouping: program.requests, by: \.text).values.map { requests in
            Set(requests.map { $0.header("Scrollback-Delivery") })
        }
        #expect(names.count == 2 && names.allSatisfy { $0.count == 1 } && Set(names).count == 2)
        delivering.cancel()
        await delivering.value
    }

    @Test("A conversation whose events the webhook refuses does not delay other conversations")
    func poison() async throws {
        let program = FakeProgram()
        program.answer { WebhookResponse(status: $0.text.contains("poison") ? 500 : 200) }
        let world = try after(program)
        try world.make(.group("other"), members: ["alice"])
        try world.send("poison", to: group, by: "alice")
        try world.send("fine", to: .group("other"), by: "alice")
        let delivering = Task { await world.engine.deliver() }
        try await eventually { try world.store.read { try $0.deliveryCount() } == 1 }
        try world.send("more", to: .group("other"), by: "alice")
        try await eventually { try world.store.read { try $0.deliveryCount() } == 1 && program.requests.count >= 3 }
        delivering.cancel()
        await delivering.value
    }

    @Test("A conversation whose delivery hangs does not delay other conversations")
    func hangs() async throws {
        let program = FakeProgram()
        program.answer { request in
            if request.text.contains("poison") { try await Task.sleep(for: .seconds(3600)) }
            return WebhookResponse(status: 200)
        }
        let world = try after(program)
        try world.make(.group("other"), members: ["alice"])
        try world.send("poison", to: group, by: "alice")
        let delivering = Task { await world.engine.deliver() }
        try await eventually { program.requests.count == 1 }
        for text in ["fine", "more"] {
            try world.send(text, to: .group("other"), by: "alice")
            try await eventually { try world.store.read { try $0.deliveryCount() } == 1 }
        }
        delivering.cancel()
        await delivering.value
    }

    @Test("Conversations take turns, and failures of several conversations pause all deliveries")
    func schedule() throws {
        let world = try after(FakeProgram())
        let groups = (1...5).map { ConversationID.group(Identifier(known: "g\($0)")) }
        for group in groups {
            try world.make(group, members: ["alice"])
            try world.send(to: group, by: "alice")
        }
        var schedule = DeliverySchedule(limit: 2, longestWait: 60)
        let hook = WebhookSettings.After(url: "http://hook.invalid", secret: secret)
        schedule.follow(hook)
        let now = world.clock.now
        func begin() throws -> [Int64] { try world.store.read { try schedule.begin(from: $0, now: now) } }
        let first = try begin()
        #expect(try first.count == 2 && begin() == [])
        for conversation in first { schedule.finished(conversation, isTaken: true, now: now) }
        let second = try begin()
        #expect(second.count == 2 && Set(first).isDisjoint(with: second))
        schedule.finished(second[0], isTaken: false, now: now)
        let third = try begin()
        #expect(third.count == 1 && !Set(first + second).contains(third[0]))
        // After the second failure in a row, deliveries to the webhook pause.
        schedule.finished(second[1], isTaken: false, now: now)
        #expect(try begin() == [] && schedule.next.map { $0 > now } == true)
        schedule.finished(third[0], isTaken: false, now: now)
        // While all posts are in flight, no timer is set, because the end of a post starts the next.
        var busy = DeliverySchedule(limit: 1, longestWait: 60)
        busy.follow(hook)
        func beginLater(_ seconds: TimeInterval) throws -> [Int64] {
            try world.store.read { try busy.begin(from: $0, now: now + seconds) }
        }
        busy.finished(second[0], isTaken: false, now: now)
        #expect(try beginLater(60).count == 1 && beginLater(120) == [] && busy.next == nil)
        schedule.follow(.init(url: "http://other.invalid", secret: secret))
        #expect(try begin().count == 2, "another webhook gets deliveries at once")
    }

    @Test("Without an after-webhook, no delivery is stored, and removing the webhook drops waiting deliveries")
    func off() throws {
        let program = FakeProgram()
        let world = try after(program)
        try world.send(to: group, by: "alice")
        try world.importHistory([world.said("old", by: "bob", at: world.clock.now)], into: group)
        #expect(try world.store.read { try $0.deliveryCount() } == 1)
        try world.set { $0.manners.webhooks.after = nil }
        #expect(try world.store.read { try $0.deliveryCount() } == 0)
        try world.send(to: group, by: "alice")
        #expect(try world.store.read { try $0.deliveryCount() } == 0)
    }

    @Test("Webhook secrets are stored and never returned")
    func secrets() throws {
        let program = FakeProgram()
        let world = try after(program)
        var writer = JSONWriter()
        writer.object { world.engine.settings.writeMembers(to: &$0) }
        #expect(writer.text.contains("hook.invalid/b") && !writer.text.contains(secret))
        let restarted = try World(store: world.store, webhooks: program)
        #expect(restarted.engine.settings.manners.webhooks.after?.secret == secret)
    }

    @Test(
        "Invalid webhook settings are refused, and the error names the setting",
        arguments: [
            (#"{"before":{"url":"ftp://x","secret":"0123456789abcdef"}}"#, "webhooks.before.url"),
            (#"{"before":{"url":"http://x","secret":"short"}}"#, "webhooks.before.secret"),
            (
                #"{"before":{"url":"http://x","secret":"0123456789abcdef","timeoutSeconds":60}}"#,
                "webhooks.before.timeoutSeconds"
            ),
            (
                #"{"before":{"url":"http://x","secret":"0123456789abcdef","onFailure":"x"}}"#,
                "webhooks.before.onFailure"
            ),
            (#"{"after":{"url":"http://","secret":"0123456789abcdef"}}"#, "webhooks.after.url"),
            (#"{"after":{"url":"http://?x","secret":"0123456789abcdef"}}"#, "webhooks.after.url"),
            (#"{"after":{"url":"http://x:99999","secret":"0123456789abcdef"}}"#, "webhooks.after.url"),
            (#"{"after":{"url":"http://me:word@x","secret":"0123456789abcdef"}}"#, "webhooks.after.url"),
            (#"{"after":{"secret":"0123456789abcdef"}}"#, "webhooks.after.url"),
        ])
    func badSettings(_ json: String, _ parameter: String) throws {
        let error = refusal {
            var settings = ServerSettings()
            var reader = JSONReader(json)
            _ = try settings.read("webhooks", &reader)
            _ = try settings.validated()
        }
        #expect(error?.parameter == parameter)
    }
}
