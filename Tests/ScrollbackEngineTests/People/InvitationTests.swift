import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Invitations")
struct InvitationTests {
    private let group = ConversationID.group("g")
    private let owner = Caller(user: "alice")

    private func harness() throws -> EngineHarness {
        let harness = try EngineHarness()
        try harness.put(group, .init(name: "Sailing", avatar: "a.png", members: ["bob"]), by: owner)
        return harness
    }

    private func events(_ device: Device) throws -> [String] {
        try device.events.compactMap { event in
            switch event {
            case .invitation(let invitation): "\(invitation.conversation) by \(invitation.by)"
            case .invitationEnded(let id): "\(id) ended"
            default: nil
            }
        }
    }

    @Test("An invited user sees the invitation and can join with it once")
    func joining() throws {
        let harness = try harness()
        let sessions = SessionHarness(harness)
        let (carol, bob) = (sessions.device("carol"), sessions.device("bob"))
        #expect(refusal { try harness.join(asInvited: "carol", group) }?.code == .unknownConversation)
        let (invitation, isNew) = try harness.invite("carol", to: group, expiresIn: 3600, by: owner)
        #expect(isNew)
        #expect(invitation.name == "Sailing" && invitation.avatar == "a.png" && invitation.by == "alice")
        #expect(invitation.expiresAt == invitation.at + 3600)
        #expect(try harness.invitations(of: "carol") == [group])
        #expect(try harness.invited(to: group, by: owner) == ["carol"])
        // The history is invisible until the user joins.
        #expect(refusal { _ = try harness.page(of: group, by: "carol") }?.code == .unknownConversation)
        #expect(try harness.join(asInvited: "carol", group))
        #expect(try harness.invitations(of: "carol") == [])
        #expect(try harness.head(group, "carol").isMember)
        #expect(try events(carol) == ["group:g by alice", "group:g ended"])
        #expect(try events(bob) == [])
        // The invitation is used up.
        try harness.leave(group, "carol", by: Caller(user: "carol"))
        #expect(refusal { try harness.join(asInvited: "carol", group) }?.code == .forbidden)
    }

    @Test("Inviters can revoke an invitation and invitees can decline it")
    func invitationsCanBeRevokedAndDeclined() throws {
        let harness = try harness()
        let carol = SessionHarness(harness).device("carol")
        for caller in [owner, Caller(user: "carol"), EngineHarness.admin] {
            try harness.invite("carol", to: group, by: owner)
            let bob = Caller(user: "bob")
            #expect(refusal { try harness.endInvitation(of: "carol", to: group, by: bob) }?.code == .forbidden)
            try harness.endInvitation(of: "carol", to: group, by: caller)
            #expect(try harness.invitations(of: "carol") == [])
            #expect(refusal { try harness.join(asInvited: "carol", group) }?.code == .unknownConversation)
        }
        #expect(try events(carol).count == 6)
        let none = refusal { try harness.endInvitation(of: "carol", to: group, by: owner) }
        #expect(none?.code == .unknownInvitation && none?.status == 404)
        #expect(
            refusal { try harness.endInvitation(of: "carol", to: group, by: Caller(user: "carol")) }?.code
                == .unknownConversation)
    }

    @Test("Only moderators can invite, only to conversations with a member list, and only users who are not members")
    func refusals() throws {
        let harness = try harness()
        let city = ConversationID.community("city")
        try harness.make(city, members: ["alice", "bob"])
        try harness.put(.community("city", channel: "open"))
        try harness.put(.community("city", channel: "closed"), .init(isPrivate: true, members: ["alice"]))
        try harness.put(.room("lobby"))
        try harness.send(to: .direct("bob").absolute(for: "alice"), by: "alice")
        #expect(refusal { try harness.invite("carol", to: group, by: Caller(user: "bob")) }?.code == .forbidden)
        let stranger = Caller(user: "erin")
        #expect(refusal { try harness.invite("carol", to: group, by: stranger) }?.code == .unknownConversation)
        #expect(refusal { try harness.invite("bob", to: group, by: owner) }?.code == .conflict)
        #expect(refusal { _ = try harness.invited(to: group, by: Caller(user: "bob")) }?.code == .forbidden)
        for (id, code, words) in [
            (.room("lobby"), .forbidden, "a room"), (.direct(between: "alice", and: "bob"), .forbidden, "a direct"),
            (.community("city", channel: "open"), .invalidParameter, "a public channel"),
        ] as [(ConversationID, ChatError.Code, String)] {
            for error in [
                refusal { try harness.invite("carol", to: id) }, refusal { _ = try harness.invited(to: id) },
            ] {
                #expect(error?.code == code && error?.message.contains(words) == true, "\(id)")
            }
        }
        for lifetime in [0, 59, 31_536_001, .max] as [Int64] {
            #expect(refusal { try harness.invite("carol", to: group, expiresIn: lifetime) }?.parameter == "expiresIn")
        }
        let closed = ConversationID.community("city", channel: "closed")
        #expect(refusal { try harness.invite("carol", to: closed) }?.code == .unknownMember)
        try harness.invite("bob", to: closed)
        try harness.invite("carol", to: city)
        #expect(try harness.join(asInvited: "bob", closed) && harness.join(asInvited: "carol", city))
        // An invitation grants no other role than member.
        try harness.invite("dave", to: group)
        #expect(refusal { try harness.join(asInvited: "dave", group, as: .owner) }?.code == .unknownConversation)
        #expect(try harness.join(asInvited: "dave", group, as: .member))
    }

    @Test("A user can't invite a user who has blocked them, and the error has the code blocked")
    func blocked() throws {
        let harness = try harness()
        try harness.block("alice", by: "carol")
        #expect(refusal { try harness.invite("carol", to: group, by: owner) }?.code == .blocked)
        #expect(try harness.invitations(of: "carol") == [])
        try harness.invite("carol", to: group, by: EngineHarness.admin)
    }

    @Test("An invitation ends when it expires, when its conversation is deleted, and when the user is added")
    func times() async throws {
        let harness = try harness()
        let carol = SessionHarness(harness).device("carol")
        try harness.invite("carol", to: group, expiresIn: 60, by: owner)
        harness.clock.advance(by: 61)
        #expect(try harness.invitations(of: "carol") == [] && harness.invited(to: group) == [])
        #expect(refusal { try harness.join(asInvited: "carol", group) }?.code == .unknownConversation)
        #expect(try harness.invite("carol", to: group, by: owner).isNew)
        #expect(try !harness.invite("carol", to: group, expiresIn: 60, by: owner).isNew)
        harness.clock.advance(by: 61)
        try await harness.engine.prune()
        #expect(try harness.store.read { try $0.invitations(of: "carol", after: 0, limit: 10) } == [])
        try harness.invite("carol", to: group, by: owner)
        try harness.join(group, "carol")
        #expect(try harness.invitations(of: "carol") == [])
        try harness.invite("dave", to: group, by: owner)
        try harness.delete(group, by: owner)
        #expect(try harness.invitations(of: "dave") == [])
        #expect(try harness.store.read { try $0.invitations(of: "dave", after: 0, limit: 10) } == [])
        try harness.put(group, by: owner)
        #expect(refusal { try harness.join(asInvited: "dave", group) }?.code == .unknownConversation)
        #expect(try events(carol).last == "group:g ended")
    }

    @Test("Both lists of invitations have pages")
    func pages() throws {
        let harness = try EngineHarness()
        for number in 1...5 {
            try harness.put(.group(Identifier(known: "g\(number)")), by: owner)
            try harness.invite("carol", to: .group(Identifier(known: "g\(number)")))
            try harness.invite(UserID(known: "u\(number)"), to: .group("g1"))
        }
        var found: [ConversationID] = []
        var cursor: String?
        repeat {
            let page = try harness.engine.invitations(to: nil, cursor: cursor, limit: 2, by: Caller(user: "carol"))
            found += page.elements.map(\.conversation)
            cursor = page.cursor
        } while cursor != nil
        #expect(found == (1...5).map { .group(Identifier(known: "g\($0)")) })
        let first = try harness.engine.invitations(to: .group("g1"), cursor: nil, limit: 3, by: owner)
        #expect(first.elements.map(\.user) == ["carol", "u1", "u2"] && first.cursor == "u2")
        for cursor in ["-1", "not a number", ""] {
            #expect(
                refusal { _ = try harness.engine.invitations(to: nil, cursor: cursor, limit: 2, by: owner) }?.parameter
                    == "cursor")
        }
    }
}
