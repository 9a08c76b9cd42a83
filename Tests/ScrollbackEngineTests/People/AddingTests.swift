import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import TestSupport
import Testing

/// Users decide whether others may add them to conversations.
@Suite("Adding members")
struct AddingTests {
    private let group = ConversationID.group("g")
    private let owner = Caller(user: "alice")
    private let bob = Caller(user: "bob")

    /// The requests that make bob a member without asking him.
    private static let requests: [@Sendable (EngineHarness, Caller) throws -> Void] = [
        { try $0.put(.group("g2"), .init(members: ["carol", "bob"]), by: $1) },
        { try $0.join(.group("g"), "bob", by: $1) },
        { try $0.put(.community("c", channel: "new"), .init(isPrivate: true, members: ["bob"]), by: $1) },
        { try $0.join(.community("c", channel: "closed"), "bob", by: $1) },
    ]

    /// Returns a group and a community, which bob is in, with a private channel, all owned by alice.
    private func harness() throws -> EngineHarness {
        let harness = try EngineHarness()
        try harness.put(group, by: owner)
        try harness.make(.community("c"), members: ["bob"])
        try harness.join(.community("c"), "alice", as: .owner)
        try harness.put(.community("c", channel: "closed"), .init(isPrivate: true), by: owner)
        return harness
    }

    @Test("A block prevents adding and inviting the user, except by administrators", arguments: requests.indices)
    func blocks(index: Int) throws {
        let harness = try harness()
        try harness.block("alice", by: "bob")
        let error = refusal { try Self.requests[index](harness, owner) }
        #expect(error?.code == .blocked && error?.parameter == "user")
        #expect(refusal { try harness.invite("bob", to: group, by: owner) }?.code == .blocked)
        #expect(refusal { _ = try harness.head(.group("g2"), "carol") }?.code == .unknownConversation)
        try harness.block("alice", isOn: false, by: "bob")
        try Self.requests[index](harness, owner)
    }

    @Test("A user who accepts only invitations can be invited and not added", arguments: requests.indices)
    func invitationOnly(index: Int) throws {
        let harness = try harness()
        func setInvitationOnly(_ isOn: Bool) throws {
            let change = ProfileChange(isInvitationOnly: isOn)
            _ = try harness.done { harness.engine.putUser("bob", change, by: bob, completion: $0) }
        }
        try setInvitationOnly(true)
        let error = refusal { try Self.requests[index](harness, owner) }
        #expect(error?.code == .invitationRequired && error?.parameter == "user")
        #expect(refusal { _ = try harness.head(.group("g2"), "carol") }?.code == .unknownConversation)
        try harness.invite("bob", to: group, by: owner)
        #expect(try harness.join(asInvited: "bob", group))
        try harness.leave(group, "bob")
        // Other changes of the profile keep the setting.
        let name = ProfileChange(name: "Bob")
        _ = try harness.done { harness.engine.putUser("bob", name, by: bob, completion: $0) }
        #expect(refusal { try Self.requests[index](harness, owner) }?.code == .invitationRequired)
        try Self.requests[index](harness, EngineHarness.admin)
        try setInvitationOnly(false)
        #expect(try !harness.engine.isInvitationOnly("bob"))
    }

    @Test("A user who left can only be invited again, and a user who was removed can be added again")
    func leaving() throws {
        let harness = try harness()
        for id in [group, .community("c", channel: "closed"), .community("c")] {
            try harness.join(id, "bob", by: id == .community("c") ? EngineHarness.admin : owner)
            try harness.leave(id, "bob", by: owner)
            try harness.join(id, "bob", by: owner)
            try harness.leave(id, "bob", by: bob)
            #expect(refusal { try harness.join(id, "bob", by: owner) }?.code == .invitationRequired)
            try harness.invite("bob", to: id, by: owner)
            #expect(try harness.join(asInvited: "bob", id))
            try harness.leave(id, "bob", by: bob)
            // Administrators may add every user.
            #expect(try harness.join(id, "bob"))
        }
    }

    // MARK: Names of erased users

    @Test("The name that replaces an erased user is refused wherever a user signs in, is added or gets a profile")
    func replacementNames() throws {
        let harness = try harness()
        let name = UserID.erasedUser()
        let root = EngineHarness.admin
        let (direct, own) = (ConversationID.direct(between: "alice", and: name), Caller(user: name))
        let attempts: [(String, () throws -> Void)] = [
            ("token", { try harness.engine.checkAccount(of: name) }),
            ("member", { try harness.join(group, name, by: root) }),
            ("own membership", { try harness.join(group, name, by: own) }),
            ("new group", { try harness.put(.group("g2"), .init(members: [name]), by: owner) }),
            ("invitation", { try harness.invite(name, to: group, by: root) }),
            ("direct conversation", { try harness.put(.direct(name), by: owner) }),
            ("direct message", { try harness.send(harness.submission(), to: .direct(name), by: owner) }),
            ("direct message of an administrator", { try harness.send(harness.submission(), to: direct, by: root) }),
            ("import", { try harness.importHistory([], into: direct, by: root) }),
            (
                "settings before the first message",
                {
                    _ = try harness.done {
                        harness.engine.change(
                            .direct(name), .settings(isMuted: true, isPinned: nil), by: owner, completion: $0)
                    }
                }
            ),
            (
                "profile",
                { _ = try harness.done { harness.engine.putUser(name, .init(name: "x"), by: root, completion: $0) } }
            ),
            ("state", { try harness.perform(PutUserState(user: name, isActive: true), by: root) }),
        ]
        for (what, attempt) in attempts {
            let code = refusal(attempt)?.code
            let wanted: Set<ChatError.Code> =
                what == "token"
                ? [.userDeactivated]
                : what == "own membership" ? [.unknownConversation] : [.unknownUser]
            #expect(code.map { wanted.contains($0) } == true, "\(what): \(code?.rawValue ?? "accepted")")
        }
        #expect(try harness.store.read { try $0.user(name) } == nil)
        // A history with messages of erased users can be imported. They don't become members.
        let message = harness.importedMessage("said", by: name, at: harness.clock.now - 60)
        #expect(try harness.importHistory([message], into: group).imported == 1)
        #expect(try harness.store.read { try $0.memberships(of: name) } == [])
    }
}
