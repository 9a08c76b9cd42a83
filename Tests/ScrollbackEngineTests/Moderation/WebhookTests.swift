import Crypto
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization
import TestSupport
import Testing

@Suite("Webhooks")
struct WebhookTests {
    private let group = ConversationID.group("g")
    private let secret = "a secret of twenty-six bytes"

    private func harness(_ receiver: FakeWebhookReceiver, _ webhooks: WebhookSettings) throws -> EngineHarness {
        let harness = try EngineHarness(webhooks: receiver)
        try harness.make(group, members: ["alice", "bob"])
        try harness.set { $0.moderation.webhooks = webhooks }
        return harness
    }

    private func before(
        _ receiver: FakeWebhookReceiver, _ onFailure: WebhookSettings.Before.OnFailure = .allow
    ) throws -> EngineHarness {
        try harness(
            receiver, .init(before: .init(url: "http://hook.invalid/a", secret: secret, onFailure: onFailure)))
    }

    private func after(_ receiver: FakeWebhookReceiver) throws -> EngineHarness {
        try harness(receiver, .init(after: .init(url: "http://hook.invalid/b", secret: secret)))
    }

    // MARK: Webhooks before storing

    @Test("The webhook is called before a message is stored, and can allow, reject or replace it")
    func webhookDecidesBeforeStorage() async throws {
        let receiver = FakeWebhookReceiver()
        let harness = try before(receiver)
        let allowed = try await harness.sent(
            harness.submission("fine", mentions: .users(["bob"])), to: group, by: "alice")
        #expect(allowed.outcome == .committed && allowed.content == nil)
        let request = try #require(receiver.requests.first)
        let id = allowed.id.description
        #expect(
            request.text
                == #"{"event":"message","conversation":"group:g","sender":"alice","id":"\#(id)","type":"text","#
                + #""content":{"text":"fine"},"mentions":{"users":["bob"]}}"#)
        let delivery = try #require(request.header("Scrollback-Delivery"))
        #expect(request.timeout == .seconds(2))
        receiver.answer(#"{"action":"reject","reason":"not here"}"#)
        let error = await refused { try await harness.sent("no", to: group, by: "alice") }
        #expect(error?.code == .contentRejected && error?.message == "not here")
        receiver.answer(#"{"action":"replace","content":{"text":"better"}}"#)
        let message = harness.submission("worse")
        #expect(try await harness.sent(message, to: group, by: "alice").content?.text == #"{"text":"better"}"#)
        // A retry of a stored message gets the first result, whatever the webhook answers.
        receiver.answer(#"{"action":"reject"}"#)
        #expect(try await harness.sent(message, to: group, by: "alice").outcome == .duplicate)
        #expect(try harness.page(of: group, by: "bob").texts == ["better", "fine"])
        // Each call has its own delivery ID, even for the same message, because its content can differ.
        #expect(Set(receiver.requests.map { $0.header("Scrollback-Delivery") }).count == 4 && !delivery.isEmpty)
    }

    @Test("The webhook is not called for messages and edits that the sender may not send")
    func webhookIsNotCalledForForbiddenSends() async throws {
        let receiver = FakeWebhookReceiver()
        let harness = try before(receiver)
        let message = harness.submission("fine")
        try await harness.sent(message, to: group, by: "alice")
        #expect(receiver.requests.count == 1)
        try harness.block("alice", by: "bob")
        try harness.mute("bob", .forever, in: group)
        func code(_ body: () async throws -> Void) async -> ChatError.Code? { await refused(body)?.code }
        #expect(await code { try await harness.sent(to: group, by: "mallory") } == .unknownConversation)
        #expect(await code { try await harness.sent(to: group, by: "bob") } == .muted)
        #expect(await code { try await harness.sent(to: .direct("bob"), by: "alice") } == .blocked)
        #expect(
            await code { try await harness.edited(message.id, in: group, "x", by: Caller(user: "bob")) } == .forbidden)
        #expect(
            await code { try await harness.edited(harness.newID(), in: group, "x", by: Caller(user: "alice")) }
                == .unknownMessage)
        #expect(receiver.requests.count == 1)
        // A retry of a stored message still succeeds.
        try harness.mute("alice", .forever, in: group)
        #expect(try await harness.sent(message, to: group, by: "alice").outcome == .duplicate)
    }

    @Test("The webhook is not called for a user's edit of a notice about their own act, which is refused")
    func webhookIsNotCalledForEditsOfNotices() async throws {
        let receiver = FakeWebhookReceiver()
        let harness = try before(receiver)
        let alice = Caller(user: "alice")
        try harness.set { $0.people.notices = true }
        try harness.join(group, "alice", as: .owner)
        try harness.put(group, .init(name: "Sailing"), by: alice)
        let notice = try #require(try harness.page(of: group, by: "alice").messages.first { $0.sender == "alice" })
        #expect(notice.content?.notice?.event == .nameChanged)
        #expect(await refused { try await harness.edited(notice.id, in: group, "x", by: alice) }?.code == .forbidden)
        #expect(receiver.requests.isEmpty)
    }

    @Test("The sender of an edit must be able to read the files in the webhook's replacement")
    func replacedFiles() async throws {
        let receiver = FakeWebhookReceiver()
        let harness = try before(receiver)
        let mine = try await harness.upload([1, 2, 3], to: group, by: "alice")
        let theirs = try await harness.upload([4, 5, 6], to: group, by: "bob")
        let message = try harness.submission(of: mine)
        try await harness.sent(message, to: group, by: "alice")
        receiver.answer(#"{"action":"replace","content":{"media":"\#(theirs.id)"}}"#)
        let edit = MessageEdit(message.content)
        let result: Result<Message, ChatError> = await withCheckedContinuation { continuation in
            harness.engine.edit(message.id, in: group, edit, by: Caller(user: "alice")) {
                continuation.resume(returning: $0)
            }
        }
        #expect(throws: ChatError.self) { try result.get() }
        #expect(try harness.page(of: group, by: "bob").messages[0].content?.json.text.contains("\(mine.id)") == true)
    }

    @Test("An edit is sent to the webhook like a message")
    func edits() async throws {
        let receiver = FakeWebhookReceiver()
        let harness = try before(receiver)
        let message = harness.submission("fine")
        try await harness.sent(message, to: group, by: "alice")
        receiver.answer(#"{"action":"reject"}"#)
        #expect(
            await refused { try await harness.edited(message.id, in: group, "no", by: Caller(user: "alice")) }?.code
                == .contentRejected)
        receiver.answer(#"{"action":"replace","content":{"text":"yes"}}"#)
        #expect(try await harness.edited(message.id, in: group, "no", by: Caller(user: "alice")).text == "yes")
        #expect(receiver.requests.last?.text.contains(#""event":"edit""#) == true)
    }

    @Test("The signature is the HMAC of the time and the body")
    func signature() async throws {
        let receiver = FakeWebhookReceiver()
        let harness = try before(receiver)
        try await harness.sent(to: group, by: "alice")
        let request = try #require(receiver.requests.first)
        let header = try #require(request.header("Scrollback-Signature"))
        let parts = header.split(separator: ",").map(String.init)
        let time = String(parts[0].dropFirst(2))
        #expect(time == String(Int(harness.clock.now.timeIntervalSince1970)))
        let code = HMAC<SHA256>.authenticationCode(
            for: Data("\(time).".utf8) + Data(request.body), using: SymmetricKey(data: Data(secret.utf8)))
        #expect(parts[1] == "v1=" + code.map { String(format: "%02x", $0) }.joined())
    }

    @Test(
        "The setting `onFailure` applies if the webhook's answer is invalid, which is counted",
        arguments: [
            ("", 200), ("[]", 200), (#"{"action":"perhaps"}"#, 200), (#"{"action":"replace"}"#, 200),
            (#"{"action":"replace","content":{"no":"text"}}"#, 200), (#"{"action":"reject"}"#, 500), ("", 302),
        ])
    func invalidAnswerAppliesOnFailure(_ text: String, _ status: Int) async throws {
        for onFailure in WebhookSettings.Before.OnFailure.allCases {
            let receiver = FakeWebhookReceiver()
            let harness = try before(receiver, onFailure)
            receiver.answer(text, status: status)
            let error = await refused { try await harness.sent(to: group, by: "alice") }
            switch onFailure {
            case .allow: #expect(error == nil)
            case .reject: #expect(error?.code == .overloaded && error?.isTemporary == true)
            }
            #expect(harness.engine.failedReviews.load(ordering: .relaxed) == 1)
            receiver.answer(#"{"action":"reject"}"#)
            _ = await refused { try await harness.sent(to: group, by: "alice") }
            #expect(harness.engine.failedReviews.load(ordering: .relaxed) == 1)
        }
    }

    @Test("Messages of a connection to a conversation stay in order, even if the first webhook answer is the slowest")
    func order() async throws {
        let receiver = FakeWebhookReceiver()
        let harness = try before(receiver)
        try harness.make(.group("other"), members: ["alice"])
        let gate = AsyncStream.makeStream(of: Void.self)
        receiver.answer { request in
            if request.text.contains("slow") { for await _ in gate.stream { break } }
            let action = request.text.contains("bad") ? "reject" : "allow"
            return WebhookResponse(status: 200, body: Array(#"{"action":"\#(action)"}"#.utf8))
        }
        let sessions = SessionHarness(harness)
        let (alice, bob) = (sessions.device("alice"), sessions.device("bob"))
        let texts = ["slow", "two", "bad", "four"]
        let refs = texts.map { alice.request(SendMessage(conversation: group, submission: harness.submission($0))) }
        let elsewhere = alice.request(
            SendMessage(conversation: .group("other"), submission: harness.submission("elsewhere")))
        bob.request(SendMessage(conversation: group, submission: harness.submission("of bob")))
        #expect(
            try await eventually {
                try alice.transport.frames.contains { if case .result(elsewhere, _) = $0 { true } else { false } }
            })
        #expect(try await eventually { try harness.head(group, "bob").head == 1 })
        #expect(try harness.page(of: group, by: "bob").texts == ["of bob"])
        gate.continuation.yield()
        #expect(try await eventually { try harness.head(group, "bob").head == 4 })
        #expect(try harness.page(of: group, by: "bob").texts == ["four", "two", "slow", "of bob"])
        #expect(try await eventually { try alice.error(refs[2])?.code == .contentRejected })
    }

    @Test("Messages that wait for the webhook are stored before shutdown completes")
    func waitingMessagesAreStoredBeforeShutdown() async throws {
        let receiver = FakeWebhookReceiver()
        let harness = try before(receiver)
        let gate = AsyncStream.makeStream(of: Void.self)
        receiver.answer { _ in
            for await _ in gate.stream { break }
            return WebhookResponse(status: 200, body: Array(#"{"action":"allow"}"#.utf8))
        }
        harness.engine.send(harness.submission(), to: group, by: Caller(user: "alice")) { _ in }
        let heads = Mutex<[Seq]>([])
        harness.engine.waitForPendingMessages { _ in
            heads.withLock { $0.append((try? harness.head(group, "bob").head) ?? -1) }
        }
        #expect(heads.withLock { $0 } == [])
        gate.continuation.yield()
        #expect(try await eventually { heads.withLock { $0 } == [1] })
    }

    @Test("Shutdown does not wait for messages that arrive after it began")
    func shutdownIgnoresLaterMessages() {
        let orderedGate = OrderedGate()
        let lane = OrderedGate.QueueID(session: Origin(NSObject()), conversation: group)
        let steps = Mutex<[String]>([])
        let first = orderedGate.enter(lane), second = orderedGate.enter(nil)
        orderedGate.whenEmpty { steps.withLock { $0.append("settled") } }
        let third = orderedGate.enter(lane)
        third? { steps.withLock { $0.append("third") } }
        second? { steps.withLock { $0.append("second") } }
        #expect(steps.withLock { $0 } == ["second"])
        first? { steps.withLock { $0.append("first") } }
        #expect(steps.withLock { $0 } == ["second", "first", "settled", "third"])
        #expect(orderedGate.isEmpty)
        orderedGate.whenEmpty { steps.withLock { $0.append("at once") } }
        #expect(steps.withLock { $0.last } == "at once")
    }

    @Test("The number of messages that wait for the webhook is limited, and more are accepted when some are done")
    func waitingMessagesAreLimited() {
        let orderedGate = OrderedGate()
        let all = (0..<OrderedGate.capacity).compactMap { _ in orderedGate.enter(nil) }
        #expect(all.count == OrderedGate.capacity && orderedGate.refusals == 0)
        #expect(orderedGate.enter(nil) == nil && orderedGate.refusals == 1)
        let first = all[0]
        first {}
        #expect(orderedGate.enter(nil) != nil)
    }

    // MARK: Webhooks after storing

    @Test("Messages and changes are delivered in order and retried until the webhook accepts them")
    func eventsAreDeliveredInOrderAndRetried() async throws {
        let receiver = FakeWebhookReceiver()
        receiver.answer("", status: 500)
        let harness = try after(receiver)
        let message = harness.submission("one")
        try harness.send(message, to: group, by: "alice")
        try harness.edit(message.id, in: group, "uno", by: Caller(user: "alice"))
        try harness.send("two", to: group, by: "bob")
        #expect(try harness.store.read { try $0.deliveryCount() } == 3)
        let delivering = Task { await harness.engine.runDeliveryLoop() }
        #expect(try await eventually { !receiver.requests.isEmpty })
        receiver.answer("")
        #expect(
            try await eventually {
                harness.clock.advance(by: 1)
                return harness.engine.pendingDeliveries == 0
            })
        #expect(try harness.store.read { try $0.deliveryCount() } == 0)
        let first = try #require(receiver.requests.first), last = try #require(receiver.requests.last)
        #expect(first.body == last.body)
        #expect(first.header("Scrollback-Delivery") == last.header("Scrollback-Delivery"))
        let events = try #require(
            (try JSONSerialization.jsonObject(with: Data(last.body)) as? [String: Any])?["events"] as? [[String: Any]])
        let delivered = events.map { event -> String in
            let data = event["data"] as? [String: Any]
            let message = data?["message"] as? [String: Any]
            return "\(data?["event"] ?? "") \((message?["content"] as? [String: Any])?["text"] ?? "")"
        }
        #expect(delivered == ["message one", "changed uno", "message two"])
        #expect(Set(events.compactMap { $0["delivery"] as? String }).count == 3)
        delivering.cancel()
        await delivering.value
    }

    @Test("A later attempt with more events has another delivery ID")
    func laterAttemptHasAnotherDeliveryID() async throws {
        let receiver = FakeWebhookReceiver()
        receiver.answer("", status: 500)
        let harness = try after(receiver)
        try harness.send("one", to: group, by: "alice")
        let delivering = Task { await harness.engine.runDeliveryLoop() }
        #expect(try await eventually { !receiver.requests.isEmpty })
        try harness.send("two", to: group, by: "alice")
        #expect(
            try await eventually {
                harness.clock.advance(by: 1)
                return receiver.requests.last?.text.contains("two") == true
            })
        #expect(harness.engine.pendingDeliveries == 2)
        #expect(try EngineHarness(store: harness.store).engine.pendingDeliveries == 2)
        let names = Dictionary(grouping: receiver.requests, by: \.text).values.map { requests in
            Set(requests.map { $0.header("Scrollback-Delivery") })
        }
        #expect(names.count == 2 && names.allSatisfy { $0.count == 1 } && Set(names).count == 2)
        delivering.cancel()
        await delivering.value
    }

    @Test("A conversation whose events the webhook refuses does not delay other conversations")
    func refusedEventsDelayNoOtherConversation() async throws {
        let receiver = FakeWebhookReceiver()
        receiver.answer { WebhookResponse(status: $0.text.contains("poison") ? 500 : 200) }
        let harness = try after(receiver)
        try harness.make(.group("other"), members: ["alice"])
        try harness.send("poison", to: group, by: "alice")
        try harness.send("fine", to: .group("other"), by: "alice")
        let delivering = Task { await harness.engine.runDeliveryLoop() }
        #expect(try await eventually { try harness.store.read { try $0.deliveryCount() } == 1 })
        try harness.send("more", to: .group("other"), by: "alice")
        #expect(
            try await eventually {
                try harness.store.read { try $0.deliveryCount() } == 1 && receiver.requests.count >= 3
            })
        delivering.cancel()
        await delivering.value
    }

    @Test("A conversation whose delivery hangs does not delay other conversations")
    func hangingDeliveryDelaysNoOtherConversation() async throws {
        let receiver = FakeWebhookReceiver()
        receiver.answer { request in
            if request.text.contains("poison") { try await Task.sleep(for: .seconds(3600)) }
            return WebhookResponse(status: 200)
        }
        let harness = try after(receiver)
        try harness.make(.group("other"), members: ["alice"])
        try harness.send("poison", to: group, by: "alice")
        let delivering = Task { await harness.engine.runDeliveryLoop() }
        #expect(try await eventually { receiver.requests.count == 1 })
        for text in ["fine", "more"] {
            try harness.send(text, to: .group("other"), by: "alice")
            #expect(try await eventually { try harness.store.read { try $0.deliveryCount() } == 1 })
        }
        delivering.cancel()
        await delivering.value
    }

    @Test("Without an after-webhook, no delivery is stored, and removing the webhook drops waiting deliveries")
    func withoutAfterWebhookNothingIsStored() throws {
        let receiver = FakeWebhookReceiver()
        let harness = try after(receiver)
        try harness.send(to: group, by: "alice")
        try harness.importHistory([harness.importedMessage("old", by: "bob", at: harness.clock.now)], into: group)
        #expect(try harness.store.read { try $0.deliveryCount() } == 1)
        try harness.set { $0.moderation.webhooks.after = nil }
        #expect(try harness.store.read { try $0.deliveryCount() } == 0)
        try harness.send(to: group, by: "alice")
        #expect(try harness.store.read { try $0.deliveryCount() } == 0)
    }

    @Test("Webhook secrets are stored and never returned")
    func secrets() throws {
        let receiver = FakeWebhookReceiver()
        let harness = try after(receiver)
        var writer = JSONWriter()
        writer.object { harness.engine.settings.writeMembers(to: &$0) }
        #expect(writer.text.contains("hook.invalid/b") && !writer.text.contains(secret))
        let restarted = try EngineHarness(store: harness.store, webhooks: receiver)
        #expect(restarted.engine.settings.moderation.webhooks.after?.secret == secret)
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
            _ = try settings.read("webhooks", &reader, unknown: .skip)
            _ = try settings.validated()
        }
        #expect(error?.parameter == parameter)
    }
}
