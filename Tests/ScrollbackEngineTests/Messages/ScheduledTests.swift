import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Scheduled messages")
struct ScheduledTests {
    private let harness: EngineHarness
    private let group = ConversationID.group("g")

    init() throws {
        harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
    }

    private func schedule(
        _ text: String, in seconds: TimeInterval, id: MessageID? = nil, to conversation: ConversationID? = nil,
        by user: UserID = "alice"
    ) throws {
        try harness.perform(
            ScheduleMessage(
                conversation: conversation ?? group, submission: harness.submission(text, id: id),
                sendAt: harness.clock.now + seconds), by: Caller(user: user))
    }

    private func list(of user: UserID = "alice") throws -> [ScheduledMessage] {
        try harness.perform(ListScheduled(page: Paging(limit: 100)), by: Caller(user: user)).elements
    }

    private func texts(in conversation: ConversationID? = nil) throws -> [String] {
        try harness.page(of: conversation ?? group, by: "bob").texts
    }

    private func wait(_ seconds: TimeInterval) async throws {
        harness.clock.advance(by: seconds)
        try await harness.engine.sendScheduledMessages()
    }

    @Test("A message is sent at its time, once and with its ID, and only its sender sees it before")
    func sending() async throws {
        let (first, second) = (harness.newID(), harness.newID())
        try schedule("later", in: 60, id: second)
        try schedule("soon", in: 30, id: first)
        #expect(try list().map(\.submission.content.text) == ["soon", "later"])
        #expect(try list(of: "bob").isEmpty)
        try await wait(29)
        #expect(try texts().isEmpty)
        try await wait(1)
        #expect(try texts() == ["soon"])
        #expect(try list().map(\.submission.id) == [second])
        try await wait(100)
        try await wait(100)
        #expect(try texts() == ["later", "soon"] && list().isEmpty)
        let sent = try harness.engine.message(second, in: group, by: Caller(user: "bob"))
        #expect(sent.sender == "alice" && sent.sentAt == harness.clock.now - 100)
        // The lost answer of the request comes after the message was sent.
        try schedule("later", in: -100, id: second)
        try await wait(1)
        #expect(try texts() == ["later", "soon"] && list().isEmpty)
    }

    @Test("A message whose time has passed is sent at once")
    func late() async throws {
        try schedule("late", in: -3_600)
        try await wait(0)
        #expect(try texts() == ["late"])
    }

    @Test("A message can be replaced and cancelled until it is sent")
    func changing() async throws {
        let id = harness.newID()
        try schedule("first", in: 10, id: id)
        try schedule("second", in: 20, id: id)
        try schedule("never", in: 5)
        let never = try #require(try list().first { $0.submission.content.text == "never" }).submission.id
        let cancel = CancelScheduled(id: never)
        #expect(refusal { try harness.perform(cancel, by: Caller(user: "bob")) }?.code == .unknownMessage)
        try harness.perform(cancel, by: Caller(user: "alice"))
        #expect(refusal { try harness.perform(cancel, by: Caller(user: "alice")) }?.code == .unknownMessage)
        try await wait(10)
        #expect(try texts().isEmpty)
        try await wait(10)
        #expect(try texts() == ["second"])
        #expect(refusal { try schedule("third", in: 10, id: id) }?.code == .conflict)
    }

    @Test("The retry of a request whose message was cancelled schedules nothing", arguments: [false, true])
    func retryAfterCancelling(byAdministrator: Bool) async throws {
        let id = harness.newID()
        let request = ScheduleMessage(
            conversation: group, submission: harness.submission("first", id: id), sendAt: harness.clock.now + 10)
        try harness.perform(request, by: Caller(user: "alice"))
        if byAdministrator {
            try harness.perform(CancelUserScheduled(user: "alice", id: id), by: EngineHarness.admin)
        } else {
            try harness.perform(CancelScheduled(id: id), by: Caller(user: "alice"))
        }
        // The device never got the answer, and sends the request again.
        try harness.perform(request, by: Caller(user: "alice"))
        #expect(try list().isEmpty)
        try await wait(20)
        try harness.perform(request, by: Caller(user: "alice"))
        try await wait(1)
        #expect(try texts().isEmpty)
        // The IDs of other users and other messages are not affected.
        try schedule("of bob", in: 5, id: id, by: "bob")
        try schedule("second", in: 10, id: id)
        #expect(try list().map(\.submission.content.text) == ["second"] && list(of: "bob").count == 1)
    }

    @Test("The retry of a request whose message was replaced changes nothing")
    func retryAfterReplacing() async throws {
        let (alice, id, start) = (Caller(user: "alice"), harness.newID(), harness.clock.now)
        func request(_ text: String, after seconds: TimeInterval) -> ScheduleMessage {
            ScheduleMessage(
                conversation: group, submission: harness.submission(text, id: id), sendAt: start + seconds,
                operation: harness.newID())
        }
        func scheduled() throws -> [String?] { try list().map(\.submission.content.text) }
        let (first, second) = (request("first", after: 10), request("second", after: 20))
        try harness.perform(first, by: alice)
        try harness.perform(second, by: alice)
        // The device never got the answer, and sends the request again.
        try harness.perform(first, by: alice)
        #expect(try scheduled() == ["second"])
        // A new request can restore the first version.
        try harness.perform(request("first", after: 10), by: alice)
        #expect(try scheduled() == ["first"])
        try harness.perform(CancelScheduled(id: id), by: alice)
        try harness.perform(second, by: alice)
        #expect(try scheduled().isEmpty)
        // The retry is not refused after the message was sent in another version.
        try harness.perform(request("third", after: 20), by: alice)
        try await wait(20)
        try harness.perform(first, by: alice)
        #expect(try texts() == ["third"] && scheduled().isEmpty)
    }

    @Test("An operation ID can't be used for another request to schedule a message, and the first message stays")
    func reusedOperation() throws {
        let (alice, id, operation, start) = (Caller(user: "alice"), harness.newID(), harness.newID(), harness.clock.now)
        func request(_ text: String, id: MessageID, after seconds: TimeInterval = 10) -> ScheduleMessage {
            ScheduleMessage(
                conversation: group, submission: harness.submission(text, id: id), sendAt: start + seconds,
                operation: operation)
        }
        let first = request("first", id: id)
        try harness.perform(first, by: alice)
        let others = [
            request("second", id: id), request("first", id: id, after: 20), request("first", id: harness.newID()),
        ]
        for other in others {
            let error = refusal { try harness.perform(other, by: alice) }
            #expect(error?.code == .conflict && error?.parameter == "operation")
        }
        try harness.perform(first, by: alice)
        #expect(try list().map(\.submission.content.text) == ["first"])
        // The IDs of other users are not affected.
        try harness.perform(others[0], by: Caller(user: "bob"))
        #expect(try list(of: "bob").map(\.submission.content.text) == ["second"])
    }

    @Test("The store remembers the newest 100 cancelled messages of a user")
    func rememberedCancellations() throws {
        var requests: [ScheduleMessage] = []
        for index in 0...100 {
            let request = ScheduleMessage(
                conversation: group, submission: harness.submission("\(index)", id: harness.newID()),
                sendAt: harness.clock.now + 1_000)
            try harness.perform(request, by: Caller(user: "alice"))
            try harness.perform(CancelScheduled(id: request.submission.id), by: Caller(user: "alice"))
            requests.append(request)
            harness.clock.advance(by: 1)
        }
        for request in requests { try harness.perform(request, by: Caller(user: "alice")) }
        #expect(try list().map(\.submission.content.text) == ["0"])
    }

    @Test("The rights at the time of sending count, and a refused message shows why and is not sent later")
    func refusals() async throws {
        #expect(refusal { try schedule("x", in: 10, by: "carol") }?.code == .unknownConversation)
        try schedule("from bob", in: 10, by: "bob")
        try schedule("from alice", in: 10)
        try harness.leave(group, "bob")
        try await wait(10)
        #expect(try harness.page(of: group, by: "alice").texts == ["from alice"])
        let failed = try list(of: "bob")
        #expect(failed.map(\.failure) == [.notMember])
        try harness.join(group, "bob")
        try await wait(1_000)
        #expect(try list(of: "bob").count == 1)
        // Scheduling it again sends it.
        try schedule("from bob", in: 1, id: failed[0].submission.id, by: "bob")
        #expect(try list(of: "bob").map(\.failure) == [nil])
        try await wait(1)
        #expect(try texts().last == "from bob" && list(of: "bob").isEmpty)
    }

    @Test("A deactivated or banned user sends nothing")
    func deactivated() async throws {
        try schedule("x", in: 10)
        let admin = EngineHarness.admin
        try harness.perform(PutUserState(user: "alice", isActive: false), by: admin)
        try await wait(10)
        #expect(try texts().isEmpty)
        #expect(try list().map(\.failure) == [.userDeactivated])
        try schedule("y", in: 10, by: "bob")
        try harness.ban("bob")
        try await wait(10)
        try harness.unban("bob")
        try await wait(10)
        #expect(try texts().isEmpty && list(of: "bob").map(\.failure) == [.banned])
    }

    @Test("A message of a user whose tokens were revoked is sent, unless an administrator cancels it")
    func revoked() async throws {
        let admin = EngineHarness.admin
        try schedule("stays", in: 10)
        try schedule("stolen", in: 10)
        try harness.perform(RevokeTokens(user: "alice"), by: admin)
        let listing = ListUserScheduled(user: "alice", page: Paging())
        let listed = try harness.perform(listing, by: admin).elements
        #expect(try listed.map(\.submission.content.text) == ["stays", "stolen"] && listed == list())
        let cancel = CancelUserScheduled(user: "alice", id: listed[1].submission.id)
        for user in ["alice", "bob"] as [UserID] {
            #expect(refusal { try harness.perform(listing, by: Caller(user: user)) }?.code == .forbidden)
            #expect(refusal { try harness.perform(cancel, by: Caller(user: user)) }?.code == .forbidden)
        }
        try harness.perform(cancel, by: admin)
        #expect(refusal { try harness.perform(cancel, by: admin) }?.code == .unknownMessage)
        let act = try #require(try harness.store.read { try $0.audit(AuditFilter(), below: .max, limit: 1).first })
        #expect(act.action == "cancel-scheduled" && act.user == "alice" && act.detail == cancel.id.description)
        try await wait(10)
        #expect(try texts() == ["stays"])
    }

    @Test("A user has at most 100 scheduled messages, at most 366 days ahead, and many are sent at one time")
    func limits() async throws {
        let day: TimeInterval = 86_400
        #expect(refusal { try schedule("x", in: 366 * day + 1) }?.parameter == "sendAt")
        try schedule("0", in: 366 * day)
        for number in 1..<100 { try schedule("\(number)", in: 10) }
        let error = refusal { try schedule("one more", in: 10) }
        #expect(error?.code == .conflict && error?.limit == 100)
        for number in 0..<50 { try schedule("b\(number)", in: 10, by: "bob") }
        try await wait(10)
        #expect(try harness.head(group, "bob").state.head == 149)
        try schedule("one more", in: 10)
        #expect(try list().count == 2)
        let page = try harness.perform(ListScheduled(page: Paging(limit: 1)), by: Caller(user: "alice"))
        #expect(page.elements.count == 1 && page.cursor == page.elements[0].submission.id.description)
        let long = String(repeating: "x", count: 100_000)
        for _ in 0..<8 { try schedule(long, in: 10, by: "bob") }
        let bobs = try harness.perform(ListScheduled(page: Paging(limit: 100)), by: Caller(user: "bob"))
        #expect(bobs.elements.count == 6 && bobs.cursor != nil)
    }

    @Test("A user over their quota delays no message of other users, and theirs are sent when the quota allows it")
    func quota() async throws {
        try harness.set { $0.quotas[.messageBytes] = 50_000 }
        for number in 0..<100 { try schedule(String(repeating: "x", count: 900) + "\(number)", in: 10) }
        try schedule("hi", in: 10, by: "bob")
        try await wait(10)
        let (waiting, sent) = (try list(), try texts())
        #expect(sent.contains("hi") && (1..<100).contains(waiting.count))
        #expect(waiting.allSatisfy { $0.failure == nil })
        try await wait(86_400)
        #expect(try list().count < waiting.count)
        #expect(try list().allSatisfy { $0.failure == nil })
    }

    @Test("Messages that were due while the server was stopped are sent after its start")
    func restart() async throws {
        try schedule("due", in: 10)
        let again = try EngineHarness(store: harness.store)
        again.clock.advance(by: 10)
        try await again.engine.sendScheduledMessages()
        #expect(try again.page(of: group, by: "bob").texts == ["due"])
    }

    @Test("A scheduled message of a direct conversation arrives there")
    func direct() async throws {
        try schedule("hi", in: 1, to: .direct("bob"))
        #expect(try list().map(\.conversation) == [.direct("bob")])
        try await wait(1)
        #expect(try texts(in: .direct("alice")) == ["hi"])
    }
}
