import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import Testing

@Suite("Conversations and members")
struct ConversationTests {
    private let group = ConversationID.group("g")

    @Test("The creator of a group is its owner, and an administrator can create a group for others")
    func owners() throws {
        let world = try World()
        #expect(try world.put(group, .init(name: "G", members: ["bob", "alice"]), by: Caller(user: "alice")))
        #expect(
            try world.engine.members(of: group, after: nil, limit: 9, by: Caller(user: "bob")) == [
                Member(id: "alice", role: .owner), Member(id: "bob", role: .member),
            ])
        try world.put(.group("h"), .init(members: ["bob"]))
        #expect(
            try world.engine.members(of: .group("h"), after: nil, limit: 9, by: World.admin) == [
                Member(id: "bob", role: .member)
            ])
        #expect(try world.head(group, "bob").name == "G")
    }

    @Test("A second put changes a conversation and keeps the omitted settings")
    func changes() throws {
        let world = try World()
        let alice = Caller(user: "alice")
        try world.put(group, .init(name: "G", avatar: "a", metadata: RawJSON(known: "{}")), by: alice)
        #expect(try world.put(group, .init(avatar: "b"), by: alice) == false)
        let head = try world.head(group, "alice")
        #expect(head.name == "G")
        #expect(head.avatar == "b")
        #expect(refusal { try world.put(group, .init(members: ["bob"]), by: alice) }?.parameter == "members")
    }

    @Test("A decomposed group name is refused, and only the composed name has a log", .history(8))
    func names() throws {
        let world = try World()
        let composed = try ConversationID("group:caf\u{E9}")
        #expect(refusal { _ = try ConversationID("group:cafe\u{301}") }?.code == .invalidParameter)
        try world.make(composed, members: ["alice"])
        let device = Doors(world).device("alice")
        try world.send(to: composed, by: "alice")
        #expect(try device.messages.map(\.conversation) == [composed])
        #expect(
            refusal { _ = try world.head(.group(Identifier(known: "cafe\u{301}")), "alice") }?.code
                == .unknownConversation)
    }

    @Test(
        "Invalid settings are refused before a conversation is created",
        arguments: [
            (ConversationID.room("new"), ConversationSettings(members: ["bob"]), "members"),
            (.community("c", channel: "new"), .init(members: ["bob"]), "members"),
            (.direct(between: "alice", and: "zoe"), .init(members: ["bob"]), "members"),
            (.group("new"), .init(isPrivate: true), "private"), (.room("new"), .init(isPrivate: true), "private"),
            (.community("new"), .init(isPrivate: true), "private"),
            (.community("c", channel: "new"), .init(isPrivate: true, members: ["outsider"]), "user"),
        ])
    func nonsense(_ id: ConversationID, _ settings: ConversationSettings, _ parameter: String) throws {
        let world = try World()
        try world.make(.community("c"), members: ["bob"])
        let error = refusal { try world.put(id, settings) }
        #expect(error?.parameter == parameter)
        #expect(
            refusal { _ = try world.engine.head(of: id, by: World.admin) }?.code == .unknownConversation,
            "\(id) was created")
    }

    @Test("A community has a default channel, which receives messages to the community", .rows(4))
    func defaultChannel() throws {
        let world = try World()
        try world.make(.community("c"), members: ["alice", "bob"])
        try world.send("hi", to: .community("c"), by: "alice")
        let page = try world.page(of: .community("c"), by: "bob")
        #expect(page.messages.map(\.conversation) == [.community("c", channel: "default")])
        #expect(try world.unread(.community("c", channel: "default"), "bob") == Counts(1))
    }

    @Test("The first message creates a direct conversation for both users")
    func direct() throws {
        let world = try World()
        #expect(refusal { _ = try world.page(of: .direct("bob"), by: "alice") }?.code == .unknownConversation)
        try world.send("hi", to: .direct("bob"), by: "alice")
        #expect(try world.unread(.direct("alice"), "bob") == Counts(1))
        #expect(try world.unread(.direct("bob"), "alice") == Counts(0))
        #expect(try world.page(of: .direct("alice"), by: "bob").texts == ["hi"])
        try world.send("notes", to: .direct("alice"), by: "alice")
        #expect(try world.page(of: .direct("alice"), by: "alice").texts == ["notes"])
        #expect(try world.unread(.direct("alice"), "alice") == Counts(0))
        #expect(
            refusal { try world.send(to: .direct(between: "alice", and: "bob"), by: "carol") }?.code
                == .unknownConversation)
        #expect(
            refusal { try world.send(to: .direct(between: "zoe", and: "bob"), by: "carol") }?.code
                == .unknownConversation)
    }

    @Test("Only the server sends system messages, and only their receiver reads them")
    func system() throws {
        let world = try World()
        #expect(refusal { try world.send(to: .system("billing"), by: "alice") }?.code == .unknownConversation)
        try world.send(
            world.submission("pay"), to: .system(to: "alice", from: "billing"),
            by: Caller(user: "billing", isAdmin: true))
        #expect(try world.page(of: .system("billing"), by: "alice").texts == ["pay"])
        #expect(try world.unread(.system("billing"), "alice") == Counts(1))
        let error = refusal { try world.send(to: .system("billing"), by: "alice") }
        #expect(error?.code == .forbidden)
        #expect(
            refusal { _ = try world.page(of: .system(to: "alice", from: "billing"), by: "bob") }?.code
                == .unknownConversation)
    }

    @Test("Any user can read and write a room, and a room has no unread counts")
    func rooms() throws {
        let world = try World()
        #expect(refusal { try world.put(.room("r"), by: Caller(user: "alice")) }?.code == .forbidden)
        try world.put(.room("r"))
        try world.send("hi", to: .room("r"), by: "alice")
        #expect(try world.page(of: .room("r"), by: "bob").texts == ["hi"])
        #expect(try world.unread(.room("r"), "bob") == Counts(0))
        #expect(
            refusal { _ = try world.engine.members(of: .room("r"), after: nil, limit: 1, by: World.admin) }?.code
                == .forbidden)
    }

    @Test("A deleted conversation is unknown, and a recreated one has a new log")
    func deletion() throws {
        let world = try World()
        try world.make(group, members: ["alice", "bob"])
        let submission = world.submission("old", mentions: .everyone())
        try world.send(submission, to: group, by: "alice")
        let epoch = try world.head(group, "alice").state.epoch
        try world.delete(group)
        #expect(refusal { _ = try world.page(of: group, by: "alice") }?.code == .unknownConversation)
        #expect(refusal { try world.send(to: group, by: "alice") }?.code == .unknownConversation)
        #expect(refusal { try world.delete(group) }?.code == .unknownConversation)
        try world.make(group, members: ["bob", "carol"])
        #expect(refusal { _ = try world.page(of: group, by: "alice") }?.code == .unknownConversation)
        let head = try world.head(group, "bob")
        #expect(head.state.epoch != epoch)
        #expect(head.state.head == 0)
        #expect((head.unread, head.mentions, head.readSeq) == (0, 0, 0))
        #expect(try world.send(submission, to: group, by: "bob").position?.seq == 1, "message IDs are unique per log")
        #expect(try world.page(of: group, by: "carol").texts == ["old"])
        #expect(try world.unread(group, "carol") == Counts(1, 1))
    }

    @Test("Deleting a community deletes its channels, and a recreated one has only its default channel")
    func communityDeletion() throws {
        let world = try World()
        try world.make(.community("c"), members: ["alice"])
        for index in 1...150 { try world.put(.community("c", channel: Identifier(known: "x\(index)"))) }
        try world.send(to: .community("c", channel: "x7"), by: "alice")
        try world.delete(.community("c"))
        for id: ConversationID in [
            .community("c"), .community("c", channel: "default"), .community("c", channel: "x99"),
        ] {
            #expect(refusal { _ = try world.engine.head(of: id, by: World.admin) }?.code == .unknownConversation)
        }
        try world.make(.community("c"), members: ["alice"])
        #expect(
            try world.engine.channels(of: "c", after: nil, limit: 100, by: Caller(user: "alice")).heads.map(
                \.conversation.part) == ["default"])
        try world.put(.community("c", channel: "x7"))
        #expect(try world.page(of: .community("c", channel: "x7"), by: "alice").messages.isEmpty)
    }

    @Test("Deleting and recreating a conversation in one commit leaves nothing of the old one")
    func deletionInOneCommit() throws {
        let world = try World()
        try world.make(group, members: ["alice", "bob"])
        try world.send("old", to: group, by: "alice")
        let group = group
        try world.change { transaction in
            let late = Append(
                conversation: group, sender: Caller(user: "alice"),
                submission: Submission(id: MessageID(high: 1, low: 2), content: .text("late")))
            _ = try transaction.append(late, permissions: .standard)
            try transaction.deleteConversation(group, by: World.admin, permissions: .standard)
            _ = try transaction.putConversation(group, .init(members: ["bob"]), by: World.admin, permissions: .standard)
            let new = Append(
                conversation: group, sender: Caller(user: "bob"),
                submission: Submission(id: MessageID(high: 1, low: 3), content: .text("new")))
            _ = try transaction.append(new, permissions: .standard)
        }
        #expect(try world.page(of: group, by: "bob").texts == ["new"])
        #expect(refusal { _ = try world.page(of: group, by: "alice") }?.code == .unknownConversation)
        #expect(try world.engine.members(of: group, after: nil, limit: 9, by: World.admin).map(\.id) == ["bob"])
    }

    @Test("Adding a member twice changes nothing, and removing a member twice fails")
    func twice() throws {
        let world = try World()
        try world.make(group, members: ["alice"])
        #expect(try world.join(group, "bob"))
        #expect(try world.join(group, "bob") == false)
        try world.leave(group, "bob")
        #expect(refusal { try world.leave(group, "bob") }?.code == .unknownMember)
        #expect(try world.join(group, "bob", as: .moderator))
        #expect(
            try world.engine.members(of: group, after: nil, limit: 9, by: World.admin).last
                == Member(id: "bob", role: .moderator))
        #expect(refusal { try world.join(.direct(between: "a", and: "b"), "c") }?.code == .unknownConversation)
    }

    @Test("A moderator can't remove members with a higher role and can't assign roles")
    func moderators() throws {
        let world = try World()
        try world.put(group, by: Caller(user: "owner"))
        for (user, role) in [("mod", Role.moderator), ("other", .moderator), ("plain", .member)] as [(UserID, Role)] {
            try world.join(group, user, as: role, by: Caller(user: "owner"))
        }
        let mod = Caller(user: "mod")
        #expect(refusal { try world.leave(group, "owner", by: mod) }?.code == .forbidden)
        #expect(refusal { try world.join(group, "plain", as: .owner, by: mod) }?.code == .forbidden)
        #expect(refusal { try world.join(group, "newcomer", as: .moderator, by: mod) }?.code == .forbidden)
        #expect(refusal { try world.leave(group, "plain", by: mod) } == nil)
        #expect(refusal { try world.leave(group, "other", by: mod) } == nil)
        #expect(refusal { try world.leave(group, "mod", by: mod) } == nil)
    }

    @Test("A public channel has the members of its community, and no member can be added or removed")
    func publicChannels() throws {
        let world = try World()
        try world.make(.community("c"), members: ["alice"])
        let channel = ConversationID.community("c", channel: "default")
        #expect(refusal { try world.join(channel, "bob") }?.parameter == "conversation")
        #expect(refusal { try world.leave(channel, "alice") }?.parameter == "conversation")
        #expect(
            try world.engine.members(of: channel, after: nil, limit: 9, by: Caller(user: "alice")).map(\.id) == [
                "alice"
            ])
    }

    @Test("A private channel accepts only community members, and leaving the community leaves the channel")
    func privateChannels() throws {
        let world = try World()
        try world.make(.community("c"), members: ["alice", "bob"])
        let secret = ConversationID.community("c", channel: "secret")
        try world.put(secret, .init(isPrivate: true, members: ["alice"]))
        #expect(refusal { try world.join(secret, "outsider") }?.code == .unknownMember)
        try world.join(secret, "bob")
        try world.send("one", to: secret, by: "alice")
        try world.leave(.community("c"), "bob")
        try world.send("two", to: secret, by: "alice")
        #expect(refusal { try world.send(to: secret, by: "bob") }?.code == .notMember)
        #expect(try world.page(of: secret, by: "bob").texts == ["one"])
        try world.join(.community("c"), "bob")
        try world.send("three", to: secret, by: "alice")
        #expect(try world.page(of: secret, by: "bob").texts == ["one"])
        #expect(refusal { try world.send(to: secret, by: "bob") }?.code == .notMember)
        try world.join(secret, "bob")
        try world.send("four", to: secret, by: "alice")
        #expect(try world.page(of: secret, by: "bob").texts == ["four", "one"])
    }

    @Test("Members are listed in pages, sorted by name")
    func memberPages() throws {
        let world = try World()
        let users = (0..<25).map { UserID(known: String(format: "u%02d", $0)) }
        try world.make(group, members: users)
        var found: [UserID] = []
        while true {
            let page = try world.engine.members(of: group, after: found.last, limit: 10, by: Caller(user: "u00"))
            if page.isEmpty { break }
            found += page.map(\.id)
        }
        #expect(found == users)
        for limit in [0, 101] {
            #expect(
                refusal { _ = try world.engine.members(of: group, after: nil, limit: limit, by: World.admin) }?
                    .parameter == "limit")
        }
    }

    // MARK: Users

    @Test("Users change their own profile, administrators change any profile, and omitted fields stay")
    func profiles() throws {
        let world = try World()
        func put(_ id: UserID, _ change: ProfileChange, _ caller: Caller) throws -> UserProfile {
            try world.done { world.engine.putUser(id, change, by: caller, completion: $0) }
        }
        #expect(refusal { _ = try world.engine.user("alice") }?.code == .unknownUser)
        #expect(try put("alice", .init(name: "Alice", avatar: "a"), Caller(user: "alice")).name == "Alice")
        #expect(
            try put("alice", .init(avatar: "b"), World.admin) == UserProfile(id: "alice", name: "Alice", avatar: "b"))
        #expect(refusal { _ = try put("alice", .init(name: "x"), Caller(user: "bob")) }?.code == .forbidden)
        #expect(
            try world.engine.users(["bob", "alice", "alice"]) == [UserProfile(id: "alice", name: "Alice", avatar: "b")])
        #expect(refusal { _ = try world.engine.users([]) }?.parameter == "users")
    }

    @Test("Tokens issued before a revocation are refused, and later tokens are accepted")
    func revocation() throws {
        let world = try World()
        let issued = world.clock.now
        world.clock.advance(by: 10)
        #expect(refusal { try world.engine.checkMayEnter("alice", issuedAt: issued) } == nil)
        try world.done { world.engine.revokeTokens(of: "alice", by: World.admin, completion: $0) }
        #expect(refusal { try world.engine.checkMayEnter("alice", issuedAt: issued) }?.code == .tokenRevoked)
        #expect(refusal { try world.engine.checkMayEnter("alice", issuedAt: world.clock.now) }?.code == .tokenRevoked)
        #expect(refusal { try world.engine.checkMayEnter("alice", issuedAt: world.clock.now + 1) } == nil)
        #expect(refusal { try world.engine.checkMayEnter("bob", issuedAt: issued) } == nil)
        let error = refusal {
            try world.done { world.engine.revokeTokens(of: "alice", by: Caller(user: "alice"), completion: $0) }
        }
        #expect(error?.code == .forbidden)
    }

    @Test("A conversation that a user left and removed from recents stays removed after new messages")
    func leftAndTakenOut() throws {
        let world = try World()
        let group = ConversationID.group("g")
        try world.make(group, members: ["alice", "bob"])
        try world.send(to: group, by: "bob")
        try world.leave(group, "alice")
        func listed() throws -> Int { try world.engine.recents(limit: 9, by: Caller(user: "alice")).heads.count }
        #expect(try listed() == 1)
        let change = StateChange.removeRecent(at: nil, stopsRoaming: false)
        _ = try world.done { world.engine.change(group, change, by: Caller(user: "alice"), completion: $0) }
        #expect(try listed() == 0)
        try world.send(to: group, by: "bob")
        #expect(try listed() == 0)
    }
}
