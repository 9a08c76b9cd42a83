import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import TestSupport
import Testing

@Suite("Conversations and members")
struct ConversationTests {
    private let group = ConversationID.group("g")

    @Test("The creator of a group is its owner, and an administrator can create a group for others")
    func owners() throws {
        let harness = try EngineHarness()
        #expect(try harness.put(group, .init(name: "G", members: ["bob", "alice"]), by: Caller(user: "alice")))
        #expect(
            try harness.engine.members(of: group, after: nil, limit: 9, by: Caller(user: "bob")) == [
                Member(id: "alice", role: .owner), Member(id: "bob", role: .member),
            ])
        try harness.put(.group("h"), .init(members: ["bob"]))
        #expect(
            try harness.engine.members(of: .group("h"), after: nil, limit: 9, by: EngineHarness.admin) == [
                Member(id: "bob", role: .member)
            ])
        #expect(try harness.head(group, "bob").name == "G")
    }

    @Test("A second put changes a conversation and keeps the omitted settings")
    func changes() throws {
        let harness = try EngineHarness()
        let alice = Caller(user: "alice")
        try harness.put(group, .init(name: "G", avatar: "a", metadata: RawJSON(known: "{}")), by: alice)
        #expect(try harness.put(group, .init(avatar: "b"), by: alice) == false)
        let head = try harness.head(group, "alice")
        #expect(head.name == "G")
        #expect(head.avatar == "b")
        #expect(refusal { try harness.put(group, .init(members: ["bob"]), by: alice) }?.parameter == "members")
    }

    @Test("A decomposed group name is refused, and only the composed name has a log", .history(8))
    func names() throws {
        let harness = try EngineHarness()
        let composed = try ConversationID("group:caf\u{E9}")
        #expect(refusal { _ = try ConversationID("group:cafe\u{301}") }?.code == .invalidParameter)
        try harness.make(composed, members: ["alice"])
        let device = SessionHarness(harness).device("alice")
        try harness.send(to: composed, by: "alice")
        #expect(try device.messages.map(\.conversation) == [composed])
        #expect(
            refusal { _ = try harness.head(.group(Identifier(known: "cafe\u{301}")), "alice") }?.code
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
    func invalidSettingsAreRefused(_ id: ConversationID, _ settings: ConversationSettings, _ parameter: String) throws {
        let harness = try EngineHarness()
        try harness.make(.community("c"), members: ["bob"])
        let error = refusal { try harness.put(id, settings) }
        #expect(error?.parameter == parameter)
        #expect(
            refusal { _ = try harness.engine.head(of: id, by: EngineHarness.admin) }?.code == .unknownConversation,
            "\(id) was created")
    }

    @Test("A community has a default channel, which receives messages to the community", .rows(4))
    func defaultChannel() throws {
        let harness = try EngineHarness()
        try harness.make(.community("c"), members: ["alice", "bob"])
        try harness.send("hi", to: .community("c"), by: "alice")
        let page = try harness.page(of: .community("c"), by: "bob")
        #expect(page.messages.map(\.conversation) == [.community("c", channel: "default")])
        #expect(try harness.unread(.community("c", channel: "default"), "bob") == Counts(1))
    }

    @Test("The first message creates a direct conversation for both users")
    func direct() throws {
        let harness = try EngineHarness()
        #expect(refusal { _ = try harness.page(of: .direct("bob"), by: "alice") }?.code == .unknownConversation)
        try harness.send("hi", to: .direct("bob"), by: "alice")
        #expect(try harness.unread(.direct("alice"), "bob") == Counts(1))
        #expect(try harness.unread(.direct("bob"), "alice") == Counts(0))
        #expect(try harness.page(of: .direct("alice"), by: "bob").texts == ["hi"])
        try harness.send("notes", to: .direct("alice"), by: "alice")
        #expect(try harness.page(of: .direct("alice"), by: "alice").texts == ["notes"])
        #expect(try harness.unread(.direct("alice"), "alice") == Counts(0))
        #expect(
            refusal { try harness.send(to: .direct(between: "alice", and: "bob"), by: "carol") }?.code
                == .unknownConversation)
        #expect(
            refusal { try harness.send(to: .direct(between: "zoe", and: "bob"), by: "carol") }?.code
                == .unknownConversation)
    }

    @Test("Only the server sends system messages, and only their receiver reads them")
    func system() throws {
        let harness = try EngineHarness()
        #expect(refusal { try harness.send(to: .system("billing"), by: "alice") }?.code == .unknownConversation)
        try harness.send(
            harness.submission("pay"), to: .system(to: "alice", from: "billing"),
            by: Caller(user: "billing", isAdmin: true))
        #expect(try harness.page(of: .system("billing"), by: "alice").texts == ["pay"])
        #expect(try harness.unread(.system("billing"), "alice") == Counts(1))
        let error = refusal { try harness.send(to: .system("billing"), by: "alice") }
        #expect(error?.code == .forbidden)
        #expect(
            refusal { _ = try harness.page(of: .system(to: "alice", from: "billing"), by: "bob") }?.code
                == .unknownConversation)
    }

    @Test("Any user can read and write a room, and a room has no unread counts")
    func rooms() throws {
        let harness = try EngineHarness()
        #expect(refusal { try harness.put(.room("r"), by: Caller(user: "alice")) }?.code == .forbidden)
        try harness.put(.room("r"))
        try harness.send("hi", to: .room("r"), by: "alice")
        #expect(try harness.page(of: .room("r"), by: "bob").texts == ["hi"])
        #expect(try harness.unread(.room("r"), "bob") == Counts(0))
        #expect(
            refusal { _ = try harness.engine.members(of: .room("r"), after: nil, limit: 1, by: EngineHarness.admin) }?
                .code
                == .forbidden)
    }

    @Test("A deleted conversation is unknown, and a recreated one has a new log")
    func deletion() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        let submission = harness.submission("old", mentions: .everyone())
        try harness.send(submission, to: group, by: "alice")
        let epoch = try harness.head(group, "alice").state.epoch
        try harness.delete(group)
        #expect(refusal { _ = try harness.page(of: group, by: "alice") }?.code == .unknownConversation)
        #expect(refusal { try harness.send(to: group, by: "alice") }?.code == .unknownConversation)
        #expect(refusal { try harness.delete(group) }?.code == .unknownConversation)
        try harness.make(group, members: ["bob", "carol"])
        #expect(refusal { _ = try harness.page(of: group, by: "alice") }?.code == .unknownConversation)
        let head = try harness.head(group, "bob")
        #expect(head.state.epoch != epoch)
        #expect(head.state.head == 0)
        #expect((head.unread, head.mentions, head.readSeq) == (0, 0, 0))
        #expect(try harness.send(submission, to: group, by: "bob").position?.seq == 1, "message IDs are unique per log")
        #expect(try harness.page(of: group, by: "carol").texts == ["old"])
        #expect(try harness.unread(group, "carol") == Counts(1, 1))
    }

    @Test("Deleting a community deletes its channels, and a recreated one has only its default channel")
    func communityDeletion() throws {
        let harness = try EngineHarness()
        try harness.make(.community("c"), members: ["alice"])
        for index in 1...150 { try harness.put(.community("c", channel: Identifier(known: "x\(index)"))) }
        try harness.send(to: .community("c", channel: "x7"), by: "alice")
        try harness.delete(.community("c"))
        for id: ConversationID in [
            .community("c"), .community("c", channel: "default"), .community("c", channel: "x99"),
        ] {
            #expect(
                refusal { _ = try harness.engine.head(of: id, by: EngineHarness.admin) }?.code == .unknownConversation)
        }
        try harness.make(.community("c"), members: ["alice"])
        #expect(
            try harness.engine.channels(of: "c", after: nil, limit: 100, by: Caller(user: "alice")).heads.map(
                \.conversation.part) == ["default"])
        try harness.put(.community("c", channel: "x7"))
        #expect(try harness.page(of: .community("c", channel: "x7"), by: "alice").messages.isEmpty)
    }

    @Test("Deleting and recreating a conversation in one commit leaves nothing of the old one")
    func deletionInOneCommit() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        try harness.send("old", to: group, by: "alice")
        let group = group
        try harness.change { transaction in
            let late = AppendRequest(
                conversation: group, caller: Caller(user: "alice"),
                submission: Submission(id: MessageID(high: 1, low: 2), content: .text("late")))
            _ = try transaction.append(late, permissions: .standard)
            _ = try DeleteConversation(conversation: group).run(transaction, harness.context)
            _ = try PutConversation(conversation: group, settings: .init(members: ["bob"]))
                .run(transaction, harness.context)
            let new = AppendRequest(
                conversation: group, caller: Caller(user: "bob"),
                submission: Submission(id: MessageID(high: 1, low: 3), content: .text("new")))
            _ = try transaction.append(new, permissions: .standard)
        }
        #expect(try harness.page(of: group, by: "bob").texts == ["new"])
        #expect(refusal { _ = try harness.page(of: group, by: "alice") }?.code == .unknownConversation)
        #expect(
            try harness.engine.members(of: group, after: nil, limit: 9, by: EngineHarness.admin).map(\.id) == ["bob"])
    }

    @Test("Adding a member twice changes nothing, and removing a member twice fails")
    func addingTwiceChangesNothing() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice"])
        #expect(try harness.join(group, "bob"))
        #expect(try harness.join(group, "bob") == false)
        try harness.leave(group, "bob")
        #expect(refusal { try harness.leave(group, "bob") }?.code == .unknownMember)
        #expect(try harness.join(group, "bob", as: .moderator))
        #expect(
            try harness.engine.members(of: group, after: nil, limit: 9, by: EngineHarness.admin).last
                == Member(id: "bob", role: .moderator))
        #expect(refusal { try harness.join(.direct(between: "a", and: "b"), "c") }?.code == .unknownConversation)
    }

    @Test("A moderator can't remove members with a higher role and can't assign roles")
    func moderators() throws {
        let harness = try EngineHarness()
        try harness.put(group, by: Caller(user: "owner"))
        for (user, role) in [("mod", Role.moderator), ("other", .moderator), ("plain", .member)] as [(UserID, Role)] {
            try harness.join(group, user, as: role, by: Caller(user: "owner"))
        }
        let mod = Caller(user: "mod")
        #expect(refusal { try harness.leave(group, "owner", by: mod) }?.code == .forbidden)
        #expect(refusal { try harness.join(group, "plain", as: .owner, by: mod) }?.code == .forbidden)
        #expect(refusal { try harness.join(group, "newcomer", as: .moderator, by: mod) }?.code == .forbidden)
        #expect(refusal { try harness.leave(group, "plain", by: mod) } == nil)
        #expect(refusal { try harness.leave(group, "other", by: mod) } == nil)
        #expect(refusal { try harness.leave(group, "mod", by: mod) } == nil)
    }

    @Test("A public channel has the members of its community, and no member can be added or removed")
    func publicChannels() throws {
        let harness = try EngineHarness()
        try harness.make(.community("c"), members: ["alice"])
        let channel = ConversationID.community("c", channel: "default")
        #expect(refusal { try harness.join(channel, "bob") }?.parameter == "conversation")
        #expect(refusal { try harness.leave(channel, "alice") }?.parameter == "conversation")
        #expect(
            try harness.engine.members(of: channel, after: nil, limit: 9, by: Caller(user: "alice")).map(\.id) == [
                "alice"
            ])
    }

    @Test("A private channel accepts only community members, and leaving the community leaves the channel")
    func privateChannels() throws {
        let harness = try EngineHarness()
        try harness.make(.community("c"), members: ["alice", "bob"])
        let secret = ConversationID.community("c", channel: "secret")
        try harness.put(secret, .init(isPrivate: true, members: ["alice"]))
        #expect(refusal { try harness.join(secret, "outsider") }?.code == .unknownMember)
        try harness.join(secret, "bob")
        try harness.send("one", to: secret, by: "alice")
        try harness.leave(.community("c"), "bob")
        try harness.send("two", to: secret, by: "alice")
        #expect(refusal { try harness.send(to: secret, by: "bob") }?.code == .notMember)
        #expect(try harness.page(of: secret, by: "bob").texts == ["one"])
        try harness.join(.community("c"), "bob")
        try harness.send("three", to: secret, by: "alice")
        #expect(try harness.page(of: secret, by: "bob").texts == ["one"])
        #expect(refusal { try harness.send(to: secret, by: "bob") }?.code == .notMember)
        try harness.join(secret, "bob")
        try harness.send("four", to: secret, by: "alice")
        #expect(try harness.page(of: secret, by: "bob").texts == ["four", "one"])
    }

    @Test("Members are listed in pages, sorted by name")
    func memberPages() throws {
        let harness = try EngineHarness()
        let users = (0..<25).map { UserID(known: String(format: "u%02d", $0)) }
        try harness.make(group, members: users)
        var found: [UserID] = []
        while true {
            let page = try harness.engine.members(of: group, after: found.last, limit: 10, by: Caller(user: "u00"))
            if page.isEmpty { break }
            found += page.map(\.id)
        }
        #expect(found == users)
        for limit in [0, 101] {
            #expect(
                refusal {
                    _ = try harness.engine.members(of: group, after: nil, limit: limit, by: EngineHarness.admin)
                }?
                .parameter == "limit")
        }
    }

    // MARK: Users

    @Test("Users change their own profile, administrators change any profile, and omitted fields stay")
    func profiles() throws {
        let harness = try EngineHarness()
        func put(_ id: UserID, _ change: ProfileChange, _ caller: Caller) throws -> UserProfile {
            try harness.done { harness.engine.putUser(id, change, by: caller, completion: $0) }
        }
        #expect(refusal { _ = try harness.engine.user("alice") }?.code == .unknownUser)
        #expect(try put("alice", .init(name: "Alice", avatar: "a"), Caller(user: "alice")).name == "Alice")
        #expect(
            try put("alice", .init(avatar: "b"), EngineHarness.admin)
                == UserProfile(id: "alice", name: "Alice", avatar: "b"))
        #expect(refusal { _ = try put("alice", .init(name: "x"), Caller(user: "bob")) }?.code == .forbidden)
        #expect(
            try harness.engine.users(["bob", "alice", "alice"]) == [
                UserProfile(id: "alice", name: "Alice", avatar: "b")
            ])
        #expect(refusal { _ = try harness.engine.users([]) }?.parameter == "users")
    }

    @Test("A revocation includes the tokens that were issued before the newest message, also after the clock went back")
    func revocationTime() throws {
        let harness = try EngineHarness()
        let issued = harness.clock.now
        try harness.send(to: .direct("bob"), by: "alice")
        harness.clock.advance(by: -60)
        try harness.perform(RevokeTokens(user: "alice"), by: EngineHarness.admin)
        #expect(refusal { try harness.engine.checkToken(of: "alice", issuedAt: issued) }?.code == .tokenRevoked)
    }

    @Test("Tokens issued before a revocation are refused, and later tokens are accepted")
    func revocation() throws {
        let harness = try EngineHarness()
        let issued = harness.clock.now
        harness.clock.advance(by: 10)
        #expect(refusal { try harness.engine.checkToken(of: "alice", issuedAt: issued) } == nil)
        try harness.perform(RevokeTokens(user: "alice"), by: EngineHarness.admin)
        #expect(refusal { try harness.engine.checkToken(of: "alice", issuedAt: issued) }?.code == .tokenRevoked)
        #expect(
            refusal { try harness.engine.checkToken(of: "alice", issuedAt: harness.clock.now) }?.code
                == .tokenRevoked)
        #expect(refusal { try harness.engine.checkToken(of: "alice", issuedAt: harness.clock.now + 1) } == nil)
        #expect(refusal { try harness.engine.checkToken(of: "bob", issuedAt: issued) } == nil)
        let error = refusal { try harness.perform(RevokeTokens(user: "alice"), by: Caller(user: "alice")) }
        #expect(error?.code == .forbidden)
    }

    @Test("A conversation that a user left and removed from recents stays removed after new messages")
    func leftAndRemovedConversationStaysRemoved() throws {
        let harness = try EngineHarness()
        let group = ConversationID.group("g")
        try harness.make(group, members: ["alice", "bob"])
        try harness.send(to: group, by: "bob")
        try harness.leave(group, "alice")
        func listed() throws -> Int { try harness.engine.recents(limit: 9, by: Caller(user: "alice")).heads.count }
        #expect(try listed() == 1)
        let change = StateChange.removeRecent(at: nil, excludesFromNewDevices: false)
        _ = try harness.done { harness.engine.change(group, change, by: Caller(user: "alice"), completion: $0) }
        #expect(try listed() == 0)
        try harness.send(to: group, by: "bob")
        #expect(try listed() == 0)
    }
}
