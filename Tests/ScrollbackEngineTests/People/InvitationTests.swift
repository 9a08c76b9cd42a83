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

    private func world() throws -> World {
        let world = try World()
        try world.put(group, .init(name: "Sailing", avatar: "a.png", members: ["bob"]), by: owner)
        return world
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
        let world = try world()
        let doors = Doors(world)
        let (carol, bob) = (doors.device("carol"), doors.device("bob"))
        #expect(refusal { try world.join(asInvited: "carol", group) }?.code == .unknownConversation)
        let (invitation, isNew) = try world.invite("carol", to: group, expiresIn: 3600, by: owner)
        #expect(isNew)
        #expect(invitation.name == "Sailing" && invitation.avatar == "a.png" && invitation.by == "alice")
        #expect(invitation.expiresAt == invitation.at + 3600)
        #expect(try world.invitations(of: "carol") == [group])
        #expect(try world.invited(to: group, by: owner) == ["carol"])
        // The history is invisible until the user joins.
        #expect(refusal { _ = try world.page(of: group, by: "carol") }?.code == .unknownConversation)
        #expect(try world.join(asInvited: "carol", group))
        #expect(try world.invitations(of: "carol") == [])
        #expect(try world.head(group, "carol").isMember)
        #expect(try events(carol) == ["group:g by alice", "group:g ended"])
        #expect(try events(bob) == [])
        // The invitation is used up.
        try world.leave(group, "carol", by: Caller(user: "carol"))
        #expect(refusal { try world.join(asInvited: "carol", group) }?.code == .forbidden)
    }

    @Test("Inviters can revoke an invitation and invitees can decline it")
    func ending() throws {
        let world = try world()
        let carol = Doors(world).device("carol")
        for caller in [owner, Caller(user: "carol"), World.admin] {
            try world.invite("carol", to: group, by: owner)
            let bob = Caller(user: "bob")
            #expect(refusal { try world.endInvitation(of: "carol", to: group, by: bob) }?.code == .forbidden)
            try world.endInvitation(of: "carol", to: group, by: caller)
            #expect(try world.invitations(of: "carol") == [])
            #expect(refusal { try world.join(asInvited: "carol", group) }?.code == .unknownConversation)
        }
        #expect(try events(carol).count == 6)
        let none = refusal { try world.endInvitation(of: "carol", to: group, by: owner) }
        #expect(none?.code == .unknownInvitation && none?.status == 404)
        #expect(
            refusal { try world.endInvitation(of: "carol", to: group, by: Caller(user: "carol")) }?.code
                == .unknownConversation)
    }

    @Test("Only moderators can invite, only to conversations with a member list, and only users who are not members")
    func refusals() throws {
        let world = try world()
        let city = ConversationID.community("city")
        try world.make(city, members: ["alice", "bob"])
        try world.put(.community("city", channel: "open"))
        try world.put(.community("city", channel: "closed"), .init(isPrivate: true, members: ["alice"]))
        try world.put(.room("lobby"))
        try world.send(to: .direct("bob").absolute(for: "alice"), by: "alice")
        #expect(refusal { try world.invite("carol", to: group, by: Caller(user: "bob")) }?.code == .forbidden)
        let stranger = Caller(user: "erin")
        #expect(refusal { try world.invite("carol", to: group, by: stranger) }?.code == .unknownConversation)
        #expect(refusal { try world.invite("bob", to: group, by: owner) }?.code == .conflict)
        #expect(refusal { _ = try world.invited(to: group, by: Caller(user: "bob")) }?.code == .forbidden)
        for (id, code, words) in [
            (.room("lobby"), .forbidden, "a room"), (.direct(between: "alice", and: "bob"), .forbidden, "a direct"),
            (.community("city", channel: "open"), .invalidParameter, "a public channel"),
        ] as [(ConversationID, ChatError.Code, String)] {
            for error in [
                refusal { try world.invite("carol", to: id) }, refusal { _ = try world.invited(to: id) },
            ] {
                #expect(error?.code == code && error?.message.contains(words) == true, "\(id)")
            }
        }
        for lifetime in [0, 59, 31_536_001, .max] as [Int64] {
            #expect(refusal { try world.invite("carol", to: group, expiresIn: lifetime) }?.parameter == "expiresIn")
        }
        let closed = ConversationID.community("city", channel: "closed")
        #expect(refusal { try world.invite("carol", to: closed) }?.code == .unknownMember)
        try world.invite("bob", to: closed)
        try world.invite("carol", to: city)
        #expect(try world.join(asInvited: "bob", closed) && world.join(asInvited: "carol", city))
        // An invitation grants no other role than member.
        try world.invite("dave", to: group)
        #expect(refusal { try world.join(asInvited: "dave", group, as: .owner) }?.code == .unknownConversation)
        #expect(try world.join(asInvited: "dave", group, as: .member))
    }

    @Test("A user can't invite a user who has blocked them, and the error has the code blocked")
    func blocked() throws {
        let world = try world()
        try world.block("alice", by: "carol")
        #expect(refusal { try world.invite("carol", to: group, by: owner) }?.code == .blocked)
        #expect(try world.invitations(of: "carol") == [])
        try world.invite("carol", to: group, by: World.admin)
    }

    @Test("An invitation ends when it expires, when its conversation is deleted, and when the user is added")
    func times() async throws {
        let world = try world()
        let carol = Doors(world).device("carol")
        try world.invite("carol", to: group, expiresIn: 60, by: owner)
        world.clock.advance(by: 61)
        #expect(try world.invitations(of: "carol") == [] && world.invited(to: group) == [])
        #expect(refusal { try world.join(asInvited: "carol", group) }?.code == .unknownConversation)
        #expect(try world.invite("carol", to: group, by: owner).isNew)
        #expect(try !world.invite("carol", to: group, expiresIn: 60, by: owner).isNew)
        world.clock.advance(by: 61)
        try await world.engine.forget()
        #expect(try world.store.read { try $0.invitations(of: "carol", after: 0, limit: 10) } == [])
        try world.invite("carol", to: group, by: owner)
        try world.join(group, "carol")
        #expect(try world.invitations(of: "carol") == [])
        try world.invite("dave", to: group, by: owner)
        try world.delete(group, by: owner)
        #expect(try world.invitations(of: "dave") == [])
        #expect(try world.store.read { try $0.invitations(of: "dave", after: 0, limit: 10) } == [])
        try world.put(group, by: owner)
        #expect(refusal { try world.join(asInvited: "dave", group) }?.code == .unknownConversation)
        #expect(try events(carol).last == "group:g ended")
    }

    @Test("Both lists of invitations have pages")
    func pages() throws {
        let world = try World()
        for number in 1...5 {
            try world.put(.group(Identifier(known: "g\(number)")), by: owner)
            try world.invite("carol", to: .group(Identifier(known: "g\(number)")))
            try world.invite(UserID(known: "u\(number)"), to: .group("g1"))
        }
        var found: [ConversationID] = []
        var cursor: String?
        repeat {
            let page = try world.engine.invitations(to: nil, cursor: cursor, limit: 2, by: Caller(user: "carol"))
            found += page.elements.map(\.conversation)
            cursor = page.cursor
        } while cursor != nil
        #expect(found == (1...5).map { .group(Identifier(known: "g\($0)")) })
        let first = try world.engine.invitations(to: .group("g1"), cursor: nil, limit: 3, by: owner)
        #expect(first.elements.map(\.user) == ["carol", "u1", "u2"] && first.cursor == "u2")
        for cursor in ["-1", "not a number", ""] {
            #expect(
                refusal { _ = try world.engine.invitations(to: nil, cursor: cursor, limit: 2, by: owner) }?.parameter
                    == "cursor")
        }
    }
}
