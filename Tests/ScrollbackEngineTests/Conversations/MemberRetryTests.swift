import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

/// A device that gets no answer repeats its request with the same operation ID.
@Suite("Repeated changes of members")
struct MemberRetryTests {
    private let group = ConversationID.group("g")
    private let harness: EngineHarness

    init() throws {
        harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
    }

    private func role(of user: UserID) throws -> Role? {
        try harness.store.read { store in
            let row = try #require(try store.conversation(group))
            return try store.members(of: row.number, after: nil, limit: 10).first { $0.user == user }?.role
        }
    }

    private func put(_ user: UserID, _ role: Role? = nil, operation: MessageID? = nil) throws -> PutMember.Answer {
        try harness.perform(
            PutMember(conversation: group, user: user, role: role, operation: operation), by: EngineHarness.admin)
    }

    @Test("A repeated removal does not remove a member who was added again")
    func removal() throws {
        let removal = RemoveMember(conversation: group, user: "bob", operation: harness.newID())
        try harness.perform(removal, by: EngineHarness.admin)
        #expect(try role(of: "bob") == nil)
        _ = try put("bob")
        try harness.perform(removal, by: EngineHarness.admin)
        #expect(try role(of: "bob") == .member)
    }

    @Test("A user who left can repeat the request, although it takes a member")
    func leaving() throws {
        let request = RemoveMember(conversation: group, user: "bob", operation: harness.newID())
        for _ in 0..<2 { try harness.perform(request, by: Caller(user: "bob")) }
        #expect(try role(of: "bob") == nil)
    }

    @Test("A repeated addition has the same answer, and does not undo a later role")
    func addition() throws {
        let operation = harness.newID()
        #expect(try put("carol", .member, operation: operation).isNew)
        #expect(try !put("carol", .moderator).isNew)
        #expect(try put("carol", .member, operation: operation).isNew)
        #expect(try role(of: "carol") == .moderator)
    }

    @Test("A request that changes nothing adds nothing to the change log, and former members can't make it")
    func unchanged() throws {
        func rev() throws -> Int64? { try harness.store.read { try $0.conversation(group)?.rev } }
        let before = try rev()
        #expect(try !put("bob", .member, operation: harness.newID()).isNew)
        #expect(try rev() == before)
        try harness.leave(group, "bob")
        let left = try rev()
        let request = PutMember(conversation: group, user: "alice", operation: harness.newID())
        #expect(refusal { try harness.perform(request, by: Caller(user: "bob")) }?.code == .forbidden)
        #expect(try rev() == left)
    }

    @Test("An operation ID that another change has is refused")
    func otherChange() throws {
        let operation = harness.newID()
        _ = try put("carol", .member, operation: operation)
        #expect(refusal { _ = try put("dave", .member, operation: operation) }?.parameter == "operation")
        let removal = RemoveMember(conversation: group, user: "bob", operation: operation)
        #expect(refusal { try harness.perform(removal, by: EngineHarness.admin) }?.parameter == "operation")
        #expect(try role(of: "dave") == nil && role(of: "bob") == .member)
    }
}
