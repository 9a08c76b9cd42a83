import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Bans and deactivation")
struct BanTests {
    private let group = ConversationID.group("g")
    private let room = ConversationID.room("lobby")
    private let moderator = Caller(user: "mod")

    private func world() throws -> World {
        let world = try World()
        try world.make(group, members: ["alice", "bob", "mod", "mod2", "boss"])
        for user: UserID in ["mod", "mod2"] { try world.join(group, user, as: .moderator) }
        try world.join(group, "boss", as: .owner)
        try world.put(room)
        return world
    }

    // MARK: Bans from conversations

    @Test("A banned member is removed, and can't be added or send until the ban ends")
    func banned() throws {
        let world = try world()
        try world.send("before", to: group, by: "bob")
        let until = world.clock.now + 60
        try world.ban("bob", until: until, reason: "spam", from: group, by: moderator)
        let error = refusal { try world.send(to: group, by: "bob") }
        #expect(error?.code == .banned && error?.status == 403)
        #expect(error?.until == until && error?.reason == "spam" && error?.retryAfter == 60)
        for caller in [moderator, World.admin] {
            #expect(refusal { try world.join(group, "bob", by: caller) }?.code == .banned)
        }
        // Like former members, banned members still see the messages from their membership.
        #expect(try world.log(of: group, by: "bob").texts == ["before"])
        #expect(
            try world.perform(ListBans(conversation: group, page: Paging()), by: moderator).elements.map(\.id) == [
                "bob"
            ])
        world.clock.advance(by: 60)
        #expect(try world.perform(ListBans(conversation: group, page: Paging()), by: moderator).elements.isEmpty)
        #expect(try world.join(group, "bob", by: moderator))
        try world.send("after", to: group, by: "bob")
    }

    @Test("A permanent ban lasts until it is lifted, and users who were never members can be banned")
    func forever() throws {
        let world = try world()
        try world.ban("mallory", from: group, by: moderator)
        world.clock.advance(by: 1e9)
        #expect(refusal { try world.join(group, "mallory", by: moderator) }?.code == .banned)
        try world.unban("mallory", from: group, by: moderator)
        #expect(try world.join(group, "mallory", by: moderator))
    }

    @Test("A ban ends the user's invitation and prevents another, and creates a notice")
    func invitations() throws {
        let world = try world()
        try world.set { $0.people.notices = true }
        try world.invite("carol", to: group, by: moderator)
        try world.ban("carol", from: group, by: moderator)
        #expect(try world.invitations(of: "carol") == [])
        #expect(refusal { try world.invite("carol", to: group, by: moderator) }?.code == .banned)
        try world.ban("bob", from: group, by: moderator)
        #expect(try world.log(of: group, by: "bob").messages.last?.content?.notice == .init(.memberBanned, user: "bob"))
        #expect(try world.log(of: group, by: "alice").messages.count == 1)
    }

    @Test("Moderators can't ban users with the same or a higher role, nor themselves")
    func ranks() throws {
        let world = try world()
        for user: UserID in ["mod2", "boss"] {
            #expect(refusal { try world.ban(user, from: group, by: moderator) }?.code == .forbidden)
        }
        #expect(refusal { try world.ban("mod", from: group, by: moderator) }?.parameter == "user")
        #expect(refusal { try world.ban("alice", from: group, by: Caller(user: "bob")) }?.code == .forbidden)
        #expect(refusal { try world.ban("alice", from: group, by: Caller(user: "x")) }?.code == .unknownConversation)
        try world.ban("mod", from: group, by: Caller(user: "boss"))
        try world.ban("boss", from: group)
        let past = world.clock.now - 1
        #expect(refusal { try world.ban("alice", until: past, from: group, by: moderator) }?.parameter == "until")
    }

    @Test("A temporary ban lasts at most ten years")
    func longest() throws {
        let world = try world()
        let end = world.clock.now + Ban.longestLifetime
        for place in [group, nil] {
            let error = refusal { try world.ban("bob", until: end + 1, from: place) }
            #expect(error?.code == .invalidParameter && error?.parameter == "until")
            try world.ban("bob", until: end, from: place)
        }
    }

    @Test("The error addresses banned users themselves, and names the banned user to moderators")
    func words() throws {
        let world = try world()
        try world.ban("bob", from: group, by: moderator)
        let own = refusal { try world.send(to: group, by: "bob") }
        #expect(own?.message.hasPrefix("You are banned from group:g") == true)
        for error in [
            refusal { try world.join(group, "bob", by: moderator) },
            refusal { try world.invite("bob", to: group, by: moderator) },
        ] {
            #expect(error?.message.hasPrefix("bob is banned from group:g") == true)
        }
    }

    @Test("A ban from a private channel has no effect while the channel is public")
    func madePublic() throws {
        let world = try World()
        let secret = ConversationID.community("town", channel: "secret")
        try world.make(.community("town"), members: ["alice", "bob"])
        try world.put(secret, .init(isPrivate: true, members: ["alice", "bob"]))
        try world.ban("bob", from: secret)
        try world.put(secret, .init(isPrivate: false))
        try world.send("hello", to: secret, by: "bob")
        try world.put(secret, .init(isPrivate: true))
        #expect(refusal { try world.join(secret, "bob") }?.code == .banned)
    }

    @Test("A ban from a community applies to its channels, and a public channel has no bans of its own")
    func community() throws {
        let world = try World()
        let town = ConversationID.community("town")
        let (general, secret) = (town.log, ConversationID.community("town", channel: "secret"))
        try world.make(town, members: ["alice", "bob"])
        try world.put(secret, .init(isPrivate: true, members: ["alice", "bob"]))
        #expect(refusal { try world.ban("bob", from: general) }?.parameter == "conversation")
        try world.ban("bob", from: secret)
        #expect(refusal { try world.send(to: secret, by: "bob") }?.code == .banned)
        try world.send(to: general, by: "bob")
        try world.ban("bob", from: town)
        #expect(refusal { try world.send(to: general, by: "bob") }?.code == .banned)
        #expect(refusal { try world.join(town, "bob") }?.code == .banned)
        try world.unban("bob", from: town)
        try world.join(town, "bob")
        try world.send(to: general, by: "bob")
        #expect(refusal { try world.join(secret, "bob") }?.code == .banned)
    }

    @Test("A ban from a room ends access to its history at every entry point immediately")
    func rooms() throws {
        let world = try world()
        let seq = try world.send("hello", to: room, by: "bob")
        let doors = Doors(world)
        let device = doors.device("bob")
        device.request(Subscribe([room]))
        try world.send("one", to: room, by: "alice")
        #expect(try device.events.contains { if case .message(let m) = $0 { m.text == "one" } else { false } })
        try world.ban("bob", until: world.clock.now + 60, from: room)
        #expect(
            try device.events.contains { if case .member(room, "bob", nil) = $0 { true } else { false } })
        device.outlet.forget()
        try world.send("two", to: room, by: "alice")
        #expect(try device.outlet.frames.isEmpty)
        #expect(refusal { try world.send(to: room, by: "bob") }?.code == .banned)
        #expect(refusal { _ = try world.page(of: room, by: "bob") }?.code == .banned)
        #expect(refusal { _ = try world.head(room, "bob") }?.code == .banned)
        #expect(seq == 1)
        device.request(Subscribe([room]))
        try world.send("three", to: room, by: "alice")
        #expect(try !device.events.contains { if case .message = $0 { true } else { false } })
        // When the ban ends, bob has access again.
        world.clock.advance(by: 60)
        #expect(try world.log(of: room, by: "bob").texts == ["hello", "one", "two", "three"])
        try world.send("back", to: room, by: "bob")
    }

    @Test("Expired bans are deleted, and a recreated conversation has no bans")
    func forgotten() async throws {
        let world = try world()
        try world.ban("bob", until: world.clock.now + 60, from: group)
        try world.ban("carol", until: world.clock.now + 60)
        try world.ban("dora", from: group)
        world.clock.advance(by: 61)
        try await world.engine.forget()
        let number = try #require(try world.store.read { try $0.conversation(group) }).number
        let (here, server, carol) = try world.store.read { store in
            (
                try store.bans(in: number, after: nil, limit: 9).map(\.ban.id),
                try store.bans(in: 0, after: nil, limit: 9), try store.user("carol")
            )
        }
        #expect(here == ["dora"] && server.isEmpty && carol?.isBanned == false)
        try world.delete(group)
        try world.make(group, members: ["dora"])
        try world.send(to: group, by: "dora")
    }

    // MARK: Bans from the server

    @Test("The server refuses the tokens of a banned user with the end and the reason of the ban")
    func server() throws {
        let world = try world()
        let doors = Doors(world)
        let device = doors.device("bob")
        #expect(world.refusalAtTheDoor("bob") == nil)
        let until = world.clock.now + 60
        try world.ban("bob", until: until, reason: "spam")
        #expect(device.outlet.closes == [.signedOut])
        let error = world.refusalAtTheDoor("bob")
        #expect(error?.code == .banned && error?.until == until && error?.reason == "spam")
        // A connection whose token was verified before the ban is closed too.
        #expect(doors.device("bob").outlet.closes == [.signedOut])
        #expect(try world.perform(ListServerBans(page: Paging()), by: World.admin).elements.map(\.id) == ["bob"])
        let list = ListServerBans(page: Paging())
        #expect(refusal { try world.perform(list, by: Caller(user: "a")) }?.code == .forbidden)
        world.clock.advance(by: 60)
        #expect(world.refusalAtTheDoor("bob") == nil)
        try world.ban("bob")
        try world.unban("bob")
        #expect(world.refusalAtTheDoor("bob") == nil)
        // The ban changed nothing else.
        try world.send("still a member", to: group, by: "bob")
        for caller in [Caller(user: "alice"), World.admin] {
            #expect(refusal { try world.ban(caller.user, by: caller) } != nil)
        }
    }

    @Test("A deactivated user can't connect, and has everything again after reactivation")
    func deactivated() throws {
        let world = try world()
        let doors = Doors(world)
        let device = doors.device("bob")
        try world.setState(of: "bob", isActive: false)
        #expect(device.outlet.closes == [.signedOut])
        #expect(world.refusalAtTheDoor("bob")?.code == .userDeactivated)
        #expect(doors.device("bob").outlet.closes == [.signedOut])
        // Messages to a deactivated user are stored.
        try world.send("for later", to: .direct(between: "alice", and: "bob"), by: "alice")
        #expect(try world.engine.users(["bob"]).isEmpty == false)
        try world.setState(of: "bob", isActive: true)
        #expect(world.refusalAtTheDoor("bob") == nil)
        #expect(try world.unread(.direct("alice"), "bob") == Counts(1))
        #expect(refusal { try world.setState(of: "root", isActive: false) }?.parameter == "user")
        #expect(refusal { try world.setState(of: "bob", isActive: false, by: moderator) }?.code == .forbidden)
    }
}
