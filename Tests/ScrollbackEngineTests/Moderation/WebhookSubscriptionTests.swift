import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization
import TestSupport
import Testing

@Suite("Webhook subscriptions and the delivery log")
struct WebhookSubscriptionTests {
    private let group = ConversationID.group("g")
    private let secret = "a secret of twenty-six bytes"

    private func webhook(
        _ name: String, _ events: Set<WebhookEvent.Kind> = WebhookEvent.Kind.standard
    ) -> WebhookSettings.After {
        .init(url: "http://\(name).invalid/", secret: secret, events: events)
    }

    private func harness(_ receiver: FakeWebhookReceiver, _ webhooks: WebhookSettings) throws -> EngineHarness {
        let harness = try EngineHarness(webhooks: receiver)
        try harness.make(group, members: ["alice", "bob"])
        try harness.set { $0.moderation.webhooks = webhooks }
        return harness
    }

    /// Delivers all pending events.
    private func deliverAll(_ harness: EngineHarness) async throws {
        let delivering = Task { await harness.engine.runDeliveryLoop() }
        #expect(
            try await eventually {
                harness.clock.advance(by: 1)
                return harness.engine.pendingDeliveries == 0
            })
        delivering.cancel()
        await delivering.value
    }

    /// The events in the requests of a receiver.
    private func events(_ receiver: FakeWebhookReceiver) throws -> [(host: String, event: [String: Any])] {
        try receiver.requests.flatMap { request in
            let body = try JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any]
            let host = URL(string: request.url)?.host() ?? ""
            return (body?["events"] as? [[String: Any]] ?? []).map { (host, $0) }
        }
    }

    private func texts(_ receiver: FakeWebhookReceiver, at host: String) throws -> [String] {
        try events(receiver).filter { $0.host == host }.map { _, event in
            let data = event["data"] as? [String: Any]
            let message = data?["message"] as? [String: Any]
            return "\(data?["event"] ?? "") \((message?["content"] as? [String: Any])?["text"] ?? "")"
        }
    }

    private func log(
        _ webhook: String, _ harness: EngineHarness, state: DeliveryState? = nil, limit: Int = 20, cursor: String? = nil
    ) throws -> (entries: [[String: Any]], cursor: String?) {
        let answer = try harness.perform(
            ListDeliveries(webhook: webhook, state: state, page: Paging(limit: limit, cursor: cursor)),
            by: EngineHarness.admin)
        var writer = JSONWriter()
        writer.object { answer.writeMembers(to: &$0) }
        let json = try JSONSerialization.jsonObject(with: Data(writer.bytes)) as? [String: Any]
        return (json?["deliveries"] as? [[String: Any]] ?? [], json?["cursor"] as? String)
    }

    // MARK: Subscriptions

    @Test("Each webhook receives the events that it selects, in order, and does not wait for another that fails")
    func subscriptionsAreIndependent() async throws {
        let receiver = FakeWebhookReceiver()
        receiver.answer { WebhookResponse(status: $0.url.contains("broken") ? 500 : 200) }
        let harness = try harness(
            receiver,
            .init(
                after: webhook("after"),
                subscriptions: ["broken": webhook("broken"), "edits": webhook("edits", [.changed])]))
        let message = harness.submission("one")
        try harness.send(message, to: group, by: "alice")
        try harness.edit(message.id, in: group, "uno", by: Caller(user: "alice"))
        try harness.send("two", to: group, by: "bob")
        #expect(harness.engine.pendingDeliveries == 7)
        let delivering = Task { await harness.engine.runDeliveryLoop() }
        #expect(try await eventually { harness.engine.pendingDeliveries == 3 })
        #expect(try texts(receiver, at: "after.invalid") == ["message one", "changed uno", "message two"])
        #expect(try texts(receiver, at: "edits.invalid") == ["changed uno"])
        #expect(receiver.requests.allSatisfy { $0.header("Scrollback-Signature") != nil })
        receiver.answer("")
        #expect(
            try await eventually {
                harness.clock.advance(by: 1)
                return harness.engine.pendingDeliveries == 0
            })
        #expect(try texts(receiver, at: "broken.invalid").suffix(3) == ["message one", "changed uno", "message two"])
        // A webhook that is added later gets later events only.
        try harness.set { [self] in $0.moderation.webhooks.subscriptions["late"] = webhook("late") }
        try harness.send("three", to: group, by: "alice")
        #expect(try await eventually { harness.engine.pendingDeliveries == 0 })
        #expect(try texts(receiver, at: "late.invalid") == ["message three"])
        delivering.cancel()
        await delivering.value
    }

    @Test("A webhook is reported once when it begins to fail, and once when all of its events are delivered again")
    func failuresAreReportedOnce() async throws {
        let receiver = FakeWebhookReceiver()
        receiver.answer("", status: 503)
        let reports = Mutex<[String]>([])
        let harness = try EngineHarness(
            webhooks: receiver,
            webhookStateChanged: { webhook, failure in
                reports.withLock { $0.append("\(webhook): \(failure ?? "works")") }
            })
        let other = ConversationID.group("other")
        for id in [group, other] { try harness.make(id, members: ["alice"]) }
        try harness.set { [self] in $0.moderation.webhooks = .init(subscriptions: ["bot": webhook("bot")]) }
        try harness.send("unwanted", to: other, by: "alice")
        let delivering = Task { await harness.engine.runDeliveryLoop() }
        /// Lets time pass until the condition is met. Each message to the other conversation begins a turn.
        func pass(until condition: () -> Bool) async throws -> Bool {
            try await eventually {
                harness.clock.advance(by: 100)
                try harness.send(to: group, by: "alice")
                return condition()
            }
        }
        func refusals() -> Int { receiver.requests.count { $0.text.contains("unwanted") } }
        #expect(try await pass { refusals() >= 3 })
        let failed = "bot: The webhook answered with status 503."
        #expect(try await pass { !reports.withLock(\.isEmpty) })
        // The webhook accepts the events of one conversation and refuses those of the other.
        receiver.answer { WebhookResponse(status: $0.text.contains("unwanted") ? 503 : 200) }
        func isReceived(_ text: String) -> Bool { receiver.requests.contains { $0.text.contains(text) } }
        let earlier = refusals()
        try harness.send("accepted", to: group, by: "alice")
        #expect(try await pass { refusals() >= earlier + 3 && isReceived("accepted") })
        // No time passes, so the failing conversation is not tried again. Each request to the other conversation begins
        // after the turn that evaluated the success of the one before.
        for text in ["first", "second", "third"] {
            try harness.send(text, to: group, by: "alice")
            #expect(try await eventually { isReceived(text) })
        }
        #expect(reports.withLock(\.self) == [failed])
        receiver.answer("")
        #expect(try await pass { reports.withLock(\.count) > 1 })
        #expect(reports.withLock(\.self) == [failed, "bot: works"])
        // After the deletion of a conversation, no event of it can be delivered.
        receiver.answer { WebhookResponse(status: $0.text.contains("unwanted") ? 500 : 200) }
        try harness.send("unwanted", to: other, by: "alice")
        #expect(try await pass { reports.withLock(\.count) == 3 })
        try harness.delete(other)
        #expect(try await pass { reports.withLock(\.count) == 4 })
        delivering.cancel()
        await delivering.value
    }

    @Test("A changed webhook is reported again if it fails, and not as working before a request succeeded")
    func changedWebhookIsReportedAgain() async throws {
        let receiver = FakeWebhookReceiver()
        receiver.answer { WebhookResponse(status: $0.url.contains("first") ? 500 : 404) }
        let reports = Mutex<[String]>([])
        let harness = try EngineHarness(
            webhooks: receiver,
            webhookStateChanged: { webhook, failure in
                reports.withLock { $0.append("\(webhook): \(failure?.suffix(4) ?? "works")") }
            })
        try harness.make(group, members: ["alice"])
        try harness.set { [self] in $0.moderation.webhooks = .init(after: webhook("first")) }
        try harness.send(to: group, by: "alice")
        let delivering = Task { await harness.engine.runDeliveryLoop() }
        #expect(try await eventually { reports.withLock(\.self) == ["after: 500."] })
        try harness.set { [self] in $0.moderation.webhooks.after = webhook("second") }
        #expect(
            try await eventually {
                harness.clock.advance(by: 1)
                return reports.withLock(\.self) == ["after: 500.", "after: 404."]
            })
        delivering.cancel()
        await delivering.value
    }

    @Test("Removing a webhook drops its deliveries and no others")
    func removalDropsOwnDeliveries() throws {
        let harness = try harness(
            FakeWebhookReceiver(),
            .init(after: webhook("after"), subscriptions: ["other": webhook("other")]))
        try harness.send(to: group, by: "alice")
        #expect(harness.engine.pendingDeliveries == 2)
        try harness.set { $0.moderation.webhooks.subscriptions["other"] = nil }
        #expect(harness.engine.pendingDeliveries == 1)
        #expect(try harness.store.read { try $0.deliveryCount() } == 1)
        try harness.set { $0.moderation.webhooks.after = nil }
        #expect(harness.engine.pendingDeliveries == 0)
    }

    @Test("A webhook can select every kind of event")
    func everyKindOfEvent() async throws {
        let receiver = FakeWebhookReceiver()
        let harness = try harness(
            receiver, .init(subscriptions: ["all": webhook("all", Set(WebhookEvent.Kind.allCases))]))
        let admin = EngineHarness.admin
        let message = harness.submission("one")
        try harness.send(message, to: group, by: "alice")
        let reaction = try harness.react("👍", to: message.id, in: group, by: Caller(user: "bob"))
        try harness.unreact(reaction, in: group, by: Caller(user: "bob"))
        try harness.pin(message.id, in: group, by: admin)
        try harness.act("vote", "a", on: message.id, in: group, by: Caller(user: "bob"))
        try harness.report(message.id, in: group, by: "bob")
        try harness.read(group, to: 1, by: "bob")
        try harness.join(group, "carol")
        try harness.mute("carol", .forever, in: group)
        try harness.ban("carol", from: group)
        try harness.unban("carol", from: group)
        try harness.ban("dave")
        try harness.unban("dave")
        try harness.setState(of: "dave", isActive: false)
        try harness.setState(of: "dave", isActive: true)
        let _: UserProfile = try harness.done {
            harness.engine.putUser("alice", ProfileChange(name: "Alice"), by: admin, completion: $0)
        }
        try harness.put(group, ConversationSettings(name: "G"))
        // The deletions would remove the pending events of the message.
        try await deliverAll(harness)
        let restarted = try EngineHarness(store: harness.store, webhooks: receiver)
        try restarted.delete(message.id, in: group, by: admin)
        try restarted.delete(.all, of: group)
        try restarted.delete(group)
        try await deliverAll(restarted)
        let found = try events(receiver).map { $0.event["data"] as? [String: Any] ?? [:] }
        #expect(
            Set(found.compactMap { $0["event"] as? String }) == Set(WebhookEvent.Kind.allCases.map(\.rawValue)),
            "\(found)")
        func all(_ kind: String, _ members: [String]) -> [String] {
            found.filter { $0["event"] as? String == kind }.map { event in
                members.map { name in
                    event[name] as? String ?? (event[name] as? NSNumber).map { "\($0.intValue)" } ?? "-"
                }.joined(separator: " ")
            }
        }
        let acts = all("moderation", ["action", "conversation", "user", "by"])
        #expect(acts.filter { $0.contains("carol") }.map { $0.prefix { $0 != " " } } == ["mute", "ban", "unban"])
        #expect(
            acts.filter { $0.contains("dave") } == [
                "ban - dave root", "unban - dave root", "deactivate - dave root", "activate - dave root",
            ])
        #expect(all("action", ["seq", "user", "value", "isAdded"]) == ["1 bob 👍 1", "1 bob 👍 0"])
        #expect(all("pin", ["seq", "user", "isAdded"]) == ["1 root 1"])
        #expect(all("vote", ["seq", "user", "value", "isAdded"]) == ["1 bob a 1"])
        #expect(all("read", ["conversation", "user", "readSeq", "unread"]).first == "group:g bob 1 0")
        #expect(all("member", ["user", "isMember", "role"]).prefix(2) == ["carol 1 member", "carol 0 -"])
        #expect(all("conversation", ["conversation", "isDeleted"]) == ["group:g 0", "group:g 1"])
        let profile = found.first { $0["event"] as? String == "profile" }?["user"] as? [String: Any]
        #expect(profile?["name"] as? String == "Alice")
    }

    // MARK: Log

    @Test("The log lists pending and delivered events with their attempts and the last error")
    func logListsAttempts() async throws {
        let receiver = FakeWebhookReceiver()
        receiver.answer("", status: 503)
        let harness = try harness(receiver, .init(after: webhook("after")))
        for text in ["one", "two", "three"] { try harness.send(text, to: group, by: "alice") }
        #expect(try log("after", harness).entries.map { $0["attempts"] as? Int } == [0, 0, 0])
        let delivering = Task { await harness.engine.runDeliveryLoop() }
        #expect(
            try await eventually {
                try log("after", harness).entries.allSatisfy { $0["error"] != nil }
            })
        let pending = try #require(try log("after", harness, state: .pending).entries.first)
        #expect(pending["error"] as? String == "The webhook answered with status 503.")
        #expect(pending["event"] as? String == "message" && pending["conversation"] as? String == "group:g")
        #expect(pending["state"] as? String == "pending" && pending["seq"] as? Int == 3)
        receiver.answer { _ in throw URLError(.cannotConnectToHost) }
        #expect(
            try await eventually {
                harness.clock.advance(by: 1)
                return try log("after", harness).entries.allSatisfy {
                    ($0["error"] as? String)?.hasPrefix("The request failed: ") == true
                }
            })
        receiver.answer("")
        #expect(
            try await eventually {
                harness.clock.advance(by: 1)
                return harness.engine.pendingDeliveries == 0
            })
        delivering.cancel()
        await delivering.value
        #expect(try log("after", harness, state: .pending).entries.isEmpty)
        let (first, cursor) = try log("after", harness, state: .delivered, limit: 2)
        #expect(first.map { $0["seq"] as? Int } == [3, 2] && first.allSatisfy { ($0["attempts"] as? Int ?? 0) > 2 })
        #expect(first.allSatisfy { $0["attemptedAt"] != nil && $0["error"] != nil })
        let (last, end) = try log("after", harness, limit: 2, cursor: cursor)
        #expect(last.map { $0["seq"] as? Int } == [1] && end == nil)
        // The log is on disk.
        let restarted = try EngineHarness(store: harness.store, webhooks: receiver)
        #expect(try log("after", restarted).entries.count == 3)
        let unknown = refusal { _ = try log("other", harness) }
        #expect(unknown?.parameter == "webhook" && unknown?.message.contains("must be one of after") == true)
        let list = ListDeliveries(webhook: "after", page: Paging())
        #expect(refusal { try harness.perform(list, by: Caller(user: "bob")) }?.code == .forbidden)
    }

    @Test("Replayed events are delivered in order, with new IDs that name the first delivery")
    func replays() async throws {
        let receiver = FakeWebhookReceiver()
        let harness = try harness(
            receiver, .init(after: webhook("after"), subscriptions: ["other": webhook("other")]))
        for number in 1...120 { try harness.send("\(number)", to: group, by: "alice") }
        try await deliverAll(harness)
        let first = try events(receiver).filter { $0.host == "after.invalid" }
        let numbers = try log("after", harness, limit: 100).entries.compactMap { $0["number"] as? Int64 }
        let newest = try #require(numbers.first)
        let before = receiver.requests.count

        func replay(from: Int64, through: Int64) throws -> ReplayDeliveries.Answer {
            try harness.perform(
                ReplayDeliveries(webhook: "after", from: from, through: through), by: EngineHarness.admin)
        }
        let answer = try replay(from: 1, through: newest)
        #expect(answer.count == 100)
        let next = try #require(answer.next)
        let rest = try replay(from: next, through: newest)
        #expect(rest.count == 20 && rest.next == nil)
        #expect(harness.engine.pendingDeliveries == 120)
        let restarted = try EngineHarness(store: harness.store, webhooks: receiver)
        #expect(restarted.engine.pendingDeliveries == 120)
        try await deliverAll(restarted)
        let again = try events(receiver).filter { $0.event["replayOf"] != nil }
        #expect(receiver.requests.count > before && again.allSatisfy { $0.host == "after.invalid" })
        #expect(
            again.map { $0.event["replayOf"] as? String } == first.map { $0.event["delivery"] as? String })
        #expect(Set((first + again).compactMap { $0.event["delivery"] as? String }).count == 240)
        // Replays are not sent again, and an empty range is an error.
        #expect(refusal { _ = try replay(from: newest + 1, through: .max) }?.parameter == "from")
        #expect(refusal { _ = try replay(from: 2, through: 1) }?.parameter == "through")
    }

    @Test("The log keeps no content of deleted messages, and nothing longer than the setting says")
    func logForgets() async throws {
        let receiver = FakeWebhookReceiver()
        let harness = try harness(receiver, .init(after: webhook("after")))
        let messages = ["one", "two", "three"].map { harness.submission($0) }
        for message in messages { try harness.send(message, to: group, by: "alice") }
        try await deliverAll(harness)
        try harness.delete(messages[0].id, in: group, by: Caller(user: "alice"))
        #expect(try log("after", harness, state: .delivered).entries.map { $0["seq"] as? Int } == [3, 2])
        try harness.delete(DeleteRange(from: nil, to: .seq(3)), of: group)
        #expect(try log("after", harness, state: .delivered).entries.map { $0["seq"] as? Int } == [3])
        harness.clock.advance(by: 24 * 3600 - 1)
        try await harness.engine.prune()
        #expect(try log("after", harness, state: .delivered).entries.count == 1)
        harness.clock.advance(by: 2)
        try await harness.engine.prune()
        #expect(try log("after", harness, state: .delivered).entries.isEmpty)

        try harness.send("four", to: group, by: "alice")
        let restarted = try EngineHarness(store: harness.store, webhooks: receiver)
        try await deliverAll(restarted)
        #expect(try log("after", restarted, state: .delivered).entries.isEmpty == false)
        try restarted.delete(group)
        #expect(try log("after", restarted, state: .delivered).entries.allSatisfy { $0["seq"] == nil })

        try restarted.set { $0.moderation.webhooks.logHours = 0 }
        try restarted.make(.group("h"), members: ["alice"])
        try restarted.send("five", to: .group("h"), by: "alice")
        let last = try EngineHarness(store: harness.store, webhooks: receiver)
        try await deliverAll(last)
        #expect(try log("after", last, state: .pending).entries.isEmpty)
        last.clock.advance(by: 3600)
        try await last.engine.prune()
        #expect(try log("after", last).entries.isEmpty)
    }

    @Test(
        "An erasure removes the delivered events with the user's messages from the log",
        arguments: [
            ErasureRow.Messages.anonymize, .erase,
        ])
    func erasure(messages: ErasureRow.Messages) async throws {
        let harness = try harness(FakeWebhookReceiver(), .init(after: webhook("after")))
        try harness.send("from bob", to: group, by: "bob")
        try harness.send("from alice", to: group, by: "alice")
        try await deliverAll(harness)
        try await harness.erase("bob", messages)
        #expect(try log("after", harness, state: .delivered).entries.map { $0["seq"] as? Int } == [2])
    }

    /// The pending events of the webhook `after` in the group.
    private func pending(_ harness: EngineHarness) throws -> [DeliveryRow] {
        let rows = try harness.store.read { store in
            let number = try #require(try store.conversation(group)).number
            return try store.deliveries(to: "after", of: number, limit: 2_000)
        }
        #expect(harness.engine.pendingDeliveries == rows.count)
        return rows
    }

    @Test("Of a message that is deleted before its event is delivered, the webhook receives only the deletion")
    func deletedBeforeDelivery() async throws {
        let receiver = FakeWebhookReceiver()
        let harness = try harness(receiver, .init(after: webhook("after")))
        let messages = ["one", "two", "three"].map { harness.submission($0) }
        for message in messages { try harness.send(message, to: group, by: "alice") }
        try harness.edit(messages[0].id, in: group, "uno", by: Caller(user: "alice"))
        try harness.delete(messages[0].id, in: group, by: Caller(user: "alice"))
        try harness.delete(DeleteRange(from: .seq(3), to: nil), of: group)
        #expect(try pending(harness).map(\.event) == ["message", "changed", "removed"])
        try await deliverAll(harness)
        #expect(try texts(receiver, at: "after.invalid") == ["message two", "changed ", "removed "])
        try harness.send("four", to: group, by: "alice")
        try harness.delete(group)
        #expect(try pending(harness).isEmpty)
    }

    @Test("A deleted range loses its pending events in steps")
    func manyDeletedBeforeDelivery() async throws {
        let harness = try harness(FakeWebhookReceiver(), .init(after: webhook("after")))
        for number in 1...600 { try harness.send("\(number)", to: group, by: "alice") }
        try harness.delete(.all, of: group)
        #expect(try pending(harness).count == 101)
        try await harness.engine.sweep()
        #expect(try pending(harness).map(\.event) == ["removed"])
    }

    @Test("The events of a removed webhook are deleted in steps, and its name can be used again afterwards")
    func removedInSteps() async throws {
        let harness = try harness(
            FakeWebhookReceiver(), .init(after: webhook("after"), subscriptions: ["other": webhook("other")]))
        for number in 1...600 { try harness.send("\(number)", to: group, by: "alice") }
        try harness.set { $0.moderation.webhooks.subscriptions["other"] = nil }
        #expect(harness.engine.pendingDeliveries == 700)
        let new = webhook("other")
        let early = refusal { try harness.set { $0.moderation.webhooks.subscriptions["other"] = new } }
        #expect(early?.code == .conflict && early?.parameter == "webhooks")
        #expect(harness.engine.settings.moderation.webhooks.subscriptions.isEmpty)
        try await harness.engine.prune()
        #expect(try pending(harness).count == 600)
        try harness.set { $0.moderation.webhooks.subscriptions["other"] = new }
        #expect(harness.engine.pendingDeliveries == 600)
    }

    @Test(
        "An erasure removes the pending events with the user's messages",
        arguments: [
            ErasureRow.Messages.anonymize, .erase,
        ])
    func erasureBeforeDelivery(messages: ErasureRow.Messages) async throws {
        let harness = try harness(FakeWebhookReceiver(), .init(after: webhook("after")))
        try harness.send("from her", to: group, by: "bob")
        try harness.send("from alice", to: group, by: "alice")
        try await harness.erase("bob", messages)
        let rows = try pending(harness)
        #expect(rows.map(\.event) == ["message", "changed"] && rows.map(\.seq) == [2, 1])
        #expect(rows.allSatisfy { !$0.body.text.contains("bob") })
        #expect(rows[1].body.text.contains("from her") == (messages == .anonymize))
    }

    @Test(
        "Invalid subscriptions are refused, and the error names the setting",
        arguments: [
            (#"{"subscriptions":{"Big":{"url":"http://x","secret":"0123456789abcdef"}}}"#, "webhooks.subscriptions"),
            (#"{"subscriptions":{"after":{"url":"http://x","secret":"0123456789abcdef"}}}"#, "webhooks.subscriptions"),
            (#"{"subscriptions":{"a":{"url":"http://x","secret":"short"}}}"#, "webhooks.subscriptions.a.secret"),
            (#"{"subscriptions":{"a":{"url":"ftp://x","secret":"0123456789abcdef"}}}"#, "webhooks.subscriptions.a.url"),
            (
                #"{"subscriptions":{"a":{"url":"http://x","secret":"0123456789abcdef","events":[]}}}"#,
                "webhooks.subscriptions.a.events"
            ),
            (
                #"{"after":{"url":"http://x","secret":"0123456789abcdef","events":["messages"]}}"#,
                "webhooks.after.events"
            ),
            (#"{"logHours":169}"#, "webhooks.logHours"), (#"{"logHours":-1}"#, "webhooks.logHours"),
        ])
    func badSettings(_ json: String, _ parameter: String) throws {
        let error = refusal {
            var settings = ServerSettings()
            var reader = JSONReader(json)
            _ = try settings.read("webhooks", &reader, unknown: .skip)
            _ = try settings.validated()
        }
        #expect(error?.parameter == parameter, "\(String(describing: error))")
    }

    @Test("Settings keep the subscriptions that a change leaves out, and at most 20")
    func subscriptionsAreMerged() throws {
        var settings = WebhookSettings()
        func change(_ json: String) throws {
            var all = ServerSettings()
            all.moderation.webhooks = settings
            var reader = JSONReader(json)
            _ = try all.read("webhooks", &reader, unknown: .skip)
            settings = try all.validated().moderation.webhooks
        }
        try change(#"{"subscriptions":{"a":{"url":"http://a","secret":"0123456789abcdef"}}}"#)
        try change(#"{"subscriptions":{"b":{"url":"http://b","secret":"0123456789abcdef","events":["pin"]}}}"#)
        try change(#"{"subscriptions":{"a":{"events":["vote","member"]}}}"#)
        #expect(settings.subscriptions["a"]?.url == "http://a")
        #expect(settings.subscriptions["a"]?.events == [.vote, .member])
        #expect(settings.subscriptions["b"]?.events == [.pin])
        var writer = JSONWriter()
        var all = ServerSettings()
        all.moderation.webhooks = settings
        writer.object { all.writeMembers(to: &$0) }
        #expect(writer.text.contains(#""a":{"url":"http://a","events":["member","vote"]}"#), "\(writer.text)")
        try change(#"{"subscriptions":{"a":null}}"#)
        #expect(settings.subscriptions.keys.sorted() == ["b"])
        let many = (0...20).map { #""w\#($0)":{"url":"http://a","secret":"0123456789abcdef"}"# }.joined(separator: ",")
        #expect(refusal { try change(#"{"subscriptions":{\#(many)}}"#) }?.limit == 20)
    }
}
