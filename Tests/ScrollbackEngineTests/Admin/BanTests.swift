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

    private func harness() throws -> EngineHarness {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob", "mod", "mod2", "boss"])
        for user: UserID in ["mod", "mod2"] { try harness.join(group, user, as: .moderator) }
        try harness.join(group, "boss", as: .owner)
        try harness.put(room)
        return harness
    }

    // MARK: Bans from conversations

    @Test("A banned member is removed, and can't be added or send until the ban ends")
    func banned() throws {
        let harness = try harness()
        try harness.send("before", to: group, by: "bob")
        let until = harness.clock.now + 60
        try harness.ban("bob", until: until, reason: "spam", from: group, by: moderator)
        let error = refusal { try harness.send(to: group, by: "bob") }
        #expect(error?.code == .banned && error?.status == 403)
        #expect(error?.until == until && error?.reason == "spam" && error?.retryAfter == 60)
        for caller in [moderator, EngineHarness.admin] {
            #expect(refusal { try harness.join(group, "bob", by: caller) }?.code == .banned)
        }
        // Like former members, banned members still see the messages from their membership.
        #expect(try harness.log(of: group, by: "bob").texts == ["before"])
        #expect(
            try harness.perform(ListBans(conversation: group, page: Paging()), by: moderator).elements.map(\.id) == [
                "bob"
            ])
        harness.clock.advance(by: 60)
        #expect(try harness.perform(ListBans(conversation: group, page: Paging()), by: moderator).elements.isEmpty)
        #expect(try harness.join(group, "bob", by: moderator))
        try harness.send("after", to: group, by: "bob")
    }

    @Test("A permanent ban lasts until it is lifted, and users who were never members can be banned")
    func permanentBanLastsUntilLifted() throws {
        let harness = try harness()
        try harness.ban("mallory", from: group, by: moderator)
        harness.clock.advance(by: 1e9)
        #expect(refusal { try harness.join(group, "mallory", by: moderator) }?.code == .banned)
        try harness.unban("mallory", from: group, by: moderator)
        #expect(try harness.join(group, "mallory", by: moderator))
    }

    @Test("A ban ends the user's invitation and prevents another, and creates a notice")
    func invitations() throws {
        let harness = try harness()
        try harness.set { $0.people.notices = true }
        try harness.invite("carol", to: group, by: moderator)
        try harness.ban("carol", from: group, by: moderator)
        #expect(try harness.invitations(of: "carol") == [])
        #expect(refusal { try harness.invite("carol", to: group, by: moderator) }?.code == .banned)
        try harness.ban("bob", from: group, by: moderator)
        #expect(
            try harness.log(of: group, by: "bob").messages.last?.content?.notice == .init(.memberBanned, user: "bob"))
        #expect(try harness.log(of: group, by: "alice").messages.count == 1)
    }

    @Test("Moderators can't ban users with the same or a higher role, nor themselves")
    func ranks() throws {
        let harness = try harness()
        for user: UserID in ["mod2", "boss"] {
            #expect(refusal { try harness.ban(user, from: group, by: moderator) }?.code == .forbidden)
        }
        #expect(refusal { try harness.ban("mod", from: group, by: moderator) }?.parameter == "user")
        #expect(refusal { try harness.ban("alice", from: group, by: Caller(user: "bob")) }?.code == .forbidden)
        #expect(refusal { try harness.ban("alice", from: group, by: Caller(user: "x")) }?.code == .unknownConversation)
        try harness.ban("mod", from: group, by: Caller(user: "boss"))
        try harness.ban("boss", from: group)
        let past = harness.clock.now - 1
        #expect(refusal { try harness.ban("alice", until: past, from: group, by: moderator) }?.parameter == "until")
    }

    @Test("A temporary ban lasts at most ten years")
    func temporaryBanLastsAtMostTenYears() throws {
        let harness = try harness()
        let end = harness.clock.now + Ban.longestLifetime
        for place in [group, nil] {
            let error = refusal { try harness.ban("bob", until: end + 1, from: place) }
            #expect(error?.code == .invalidParameter && error?.parameter == "until")
            try harness.ban("bob", until: end, from: place)
        }
    }

    @Test("The error addresses banned users themselves, and names the banned user to moderators")
    func errorAddressesItsReader() throws {
        let harness = try harness()
        try harness.ban("bob", from: group, by: moderator)
        let own = refusal { try harness.send(to: group, by: "bob") }
        #expect(own?.message.hasPrefix("You are banned from group:g") == true)
        for error in [
            refusal { try harness.join(group, "bob", by: moderator) },
            refusal { try harness.invite("bob", to: group, by: moderator) },
        ] {
            #expect(error?.message.hasPrefix("bob is banned from group:g") == true)
        }
    }

    @Test("A ban from a private channel has no effect while the channel is public")
    func madePublic() throws {
        let harness = try EngineHarness()
        let secret = ConversationID.community("town", channel: "secret")
        try harness.make(.community("town"), members: ["alice", "bob"])
        try harness.put(secret, .init(isPrivate: true, members: ["alice", "bob"]))
        try harness.ban("bob", from: secret)
        try harness.put(secret, .init(isPrivate: false))
        try harness.send("hello", to: secret, by: "bob")
        try harness.put(secret, .init(isPrivate: true))
        #expect(refusal { try harness.join(secret, "bob") }?.code == .banned)
    }

    @Test("A ban from a community applies to its channels, and a public channel has no bans of its own")
    func community() throws {
        let harness = try EngineHarness()
        let town = ConversationID.community("town")
        let (general, secret) = (town.logID, ConversationID.community("town", channel: "secret"))
        try harness.make(town, members: ["alice", "bob"])
        try harness.put(secret, .init(isPrivate: true, members: ["alice", "bob"]))
        #expect(refusal { try harness.ban("bob", from: general) }?.parameter == "conversation")
        try harness.ban("bob", from: secret)
        #expect(refusal { try harness.send(to: secret, by: "bob") }?.code == .banned)
        try harness.send(to: general, by: "bob")
        try harness.ban("bob", from: town)
        #expect(refusal { try harness.send(to: general, by: "bob") }?.code == .banned)
        #expect(refusal { try harness.join(town, "bob") }?.code == .banned)
        try harness.unban("bob", from: town)
        try harness.join(town, "bob")
        try harness.send(to: general, by: "bob")
        #expect(refusal { try harness.join(secret, "bob") }?.code == .banned)
    }

    @Test("A ban from a room ends access to its history at every entry point immediately")
    func rooms() throws {
        let harness = try harness()
        let seq = try harness.send("hello", to: room, by: "bob")
        let sessions = SessionHarness(harness)
        let device = sessions.device("bob")
        device.request(Subscribe([room]))
        try harness.send("one", to: room, by: "alice")
        #expect(try device.events.contains { if case .message(let m) = $0 { m.text == "one" } else { false } })
        try harness.ban("bob", until: harness.clock.now + 60, from: room)
        #expect(
            try device.events.contains { if case .member(room, "bob", nil) = $0 { true } else { false } })
        device.transport.forget()
        try harness.send("two", to: room, by: "alice")
        #expect(try device.transport.frames.isEmpty)
        #expect(refusal { try harness.send(to: room, by: "bob") }?.code == .banned)
        #expect(refusal { _ = try harness.page(of: room, by: "bob") }?.code == .banned)
        #expect(refusal { _ = try harness.head(room, "bob") }?.code == .banned)
        #expect(seq == 1)
        device.request(Subscribe([room]))
        try harness.send("three", to: room, by: "alice")
        #expect(try !device.events.contains { if case .message = $0 { true } else { false } })
        // When the ban ends, bob has access again.
        harness.clock.advance(by: 60)
        #expect(try harness.log(of: room, by: "bob").texts == ["hello", "one", "two", "three"])
        try harness.send("back", to: room, by: "bob")
    }

    @Test("Expired bans are deleted, and a recreated conversation has no bans")
    func expiredBansAreDeleted() async throws {
        let harness = try harness()
        try harness.ban("bob", until: harness.clock.now + 60, from: group)
        try harness.ban("carol", until: harness.clock.now + 60)
        try harness.ban("dora", from: group)
        harness.clock.advance(by: 61)
        try await harness.engine.prune()
        let number = try #require(try harness.store.read { try $0.conversation(group) }).number
        let (here, server, carol) = try harness.store.read { store in
            (
                try store.bans(in: number, after: nil, limit: 9).map(\.ban.id),
                try store.bans(in: 0, after: nil, limit: 9), try store.user("carol")
            )
        }
        #expect(here == ["dora"] && server.isEmpty && carol?.isBanned == false)
        try harness.delete(group)
        try harness.make(group, members: ["dora"])
        try harness.send(to: group, by: "dora")
    }

    // MARK: Bans from the server

    @Test("The server refuses the tokens of a banned user with the end and the reason of the ban")
    func server() throws {
        let harness = try harness()
        let sessions = SessionHarness(harness)
        let device = sessions.device("bob")
        #expect(harness.connectionRefusal("bob") == nil)
        let until = harness.clock.now + 60
        try harness.ban("bob", until: until, reason: "spam")
        #expect(device.transport.closes == [.signedOut])
        let error = harness.connectionRefusal("bob")
        #expect(error?.code == .banned && error?.until == until && error?.reason == "spam")
        // A connection whose token was verified before the ban is closed too.
        #expect(sessions.device("bob").transport.closes == [.signedOut])
        #expect(
            try harness.perform(ListServerBans(page: Paging()), by: EngineHarness.admin).elements.map(\.id) == ["bob"])
        let list = ListServerBans(page: Paging())
        #expect(refusal { try harness.perform(list, by: Caller(user: "a")) }?.code == .forbidden)
        harness.clock.advance(by: 60)
        #expect(harness.connectionRefusal("bob") == nil)
        try harness.ban("bob")
        try harness.unban("bob")
        #expect(harness.connectionRefusal("bob") == nil)
        // The ban changed nothing else.
        try harness.send("still a member", to: group, by: "bob")
        for caller in [Caller(user: "alice"), EngineHarness.admin] {
            #expect(refusal { try harness.ban(caller.user, by: caller) } != nil)
        }
    }

    @Test("A deactivated user can't connect, and has everything again after reactivation")
    func deactivated() throws {
        let harness = try harness()
        let sessions = SessionHarness(harness)
        let device = sessions.device("bob")
        try harness.setState(of: "bob", isActive: false)
        #expect(device.transport.closes == [.signedOut])
        #expect(harness.connectionRefusal("bob")?.code == .userDeactivated)
        #expect(sessions.device("bob").transport.closes == [.signedOut])
        // Messages to a deactivated user are stored.
        try harness.send("for later", to: .direct(between: "alice", and: "bob"), by: "alice")
        #expect(try harness.engine.users(["bob"]).isEmpty == false)
        try harness.setState(of: "bob", isActive: true)
        #expect(harness.connectionRefusal("bob") == nil)
        #expect(try harness.unread(.direct("alice"), "bob") == Counts(1))
        #expect(refusal { try harness.setState(of: "root", isActive: false) }?.parameter == "user")
        #expect(refusal { try harness.setState(of: "bob", isActive: false, by: moderator) }?.code == .forbidden)
    }
}
