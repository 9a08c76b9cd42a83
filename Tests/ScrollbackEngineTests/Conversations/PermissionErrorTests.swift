import ScrollbackEngine
import ScrollbackModel
import Testing

@Suite("Errors about missing permissions")
struct PermissionErrorTests {
    private static let refusals: [(Permission, ConversationID, text: String)] = [
        (.send, .group("g"), "You need to be a member of group:g to act."),
        (.mute, .group("g"), "You need the moderator role in group:g to act."),
        (.delete, .group("g"), "You need the owner role in group:g to act."),
        (.mute, .room("r"), "In room:r, only administrators can act."),
        (.invite, .room("r"), "In room:r, no user can act."),
    ]

    @Test("The error names the role that the action requires", arguments: refusals)
    func requiredRole(_ action: Permission, _ id: ConversationID, text: String) {
        let error = refusal {
            try Permissions.standard.require(
                action, in: id, as: nil, by: Caller(user: "bob"), to: "act", parameter: "user")
        }
        #expect(error?.code == .forbidden && error?.message == text && error?.parameter == "user")
    }

    @Test("Former members can't learn from the error about a role who is a member")
    func members() throws {
        let harness = try EngineHarness()
        try harness.make(.group("g"), members: ["alice", "bob"])
        try harness.leave(.group("g"), "bob")
        func error(_ user: UserID, _ role: Role?) -> ChatError? {
            refusal { _ = try harness.join(.group("g"), user, as: role, by: Caller(user: "bob")) }
        }
        for role in [nil, Role.member, .moderator] {
            #expect(error("alice", role)?.code == .forbidden)
            #expect(error("alice", role)?.message == error("carol", role)?.message)
        }
    }
}
