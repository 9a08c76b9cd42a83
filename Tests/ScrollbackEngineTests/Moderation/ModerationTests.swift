import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import TestSupport
import Testing

@Suite("Blocks, mutes and frozen conversations")
struct ModerationTests {
    private let group = ConversationID.group("g")
    private let direct = ConversationID.direct(between: "alice", and: "bob")

    private func harness() throws -> EngineHarness {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob", "carol"])
        return harness
    }

    // MARK: Blocks

    @Test("A blocked user can't create a direct conversation by changing its personal settings")
    func blockedUserCannotCreateBySettings() throws {
        let harness = try EngineHarness()
        try harness.block("alice", by: "bob")
        let direct = ConversationID.direct(between: "alice", and: "bob")
        let change = StateChange.settings(isMuted: nil, isPinned: true)
        let error = refusal {
            _ = try harness.done { harness.engine.change(direct, change, by: Caller(user: "alice"), completion: $0) }
        }
        #expect(error?.code == .blocked)
        #expect(refusal { _ = try harness.head(direct, "bob") }?.code == .unknownConversation)
    }

    @Test("A direct message from a blocked sender is refused, and a group message is delivered", .rows(88))
    func blocked() throws {
        let harness = try harness()
        let before = harness.submission("before")
        try harness.send(before, to: direct, by: "alice")
        try harness.block("alice", by: "bob")
        #expect(refusal { try harness.send(to: direct, by: "alice") }?.code == .blocked)
        #expect(refusal { try harness.edit(before.id, in: direct, "new", by: Caller(user: "alice")) }?.code == .blocked)
        #expect(
            refusal { try harness.react("👍", to: before.id, in: direct, by: Caller(user: "alice")) }?.code == .blocked)
        // A retry of a stored message still succeeds, and the user who blocked may send.
        #expect(try harness.send(before, to: direct, by: "alice").outcome == .duplicate)
        try harness.send("from bob", to: direct, by: "bob")
        try harness.send("to all", to: group, by: "alice")
        try harness.send(harness.submission("from above"), to: direct, by: EngineHarness.admin)
        try harness.block("alice", isOn: false, by: "bob")
        try harness.send("again", to: direct, by: "alice")
    }

    @Test("A refused first message of a blocked sender creates no conversation")
    func refusedFirstMessageCreatesNothing() throws {
        let harness = try harness()
        try harness.block("alice", by: "bob")
        #expect(refusal { try harness.send(to: direct, by: "alice") }?.code == .blocked)
        #expect(try harness.store.read { try $0.conversation(direct) } == nil)
        #expect(refusal { try harness.block("bob", by: "bob") }?.parameter == "user")
    }

    @Test("A blocked user can't create a direct conversation with a put, which refuses name, avatar and freezing")
    func blockedUserCannotCreateByPut() throws {
        let harness = try harness()
        try harness.block("alice", by: "bob")
        let alice = Caller(user: "alice")
        #expect(refusal { try harness.put(direct, by: alice) }?.code == .blocked)
        #expect(try harness.store.read { try $0.conversation(direct) } == nil)
        try harness.block("alice", isOn: false, by: "bob")
        let settings: [(String, ConversationSettings)] = [
            ("name", .init(name: "us")), ("avatar", .init(avatar: "a")), ("frozen", .init(isFrozen: true)),
        ]
        for (name, settings) in settings {
            for caller in [alice, EngineHarness.admin] {
                let error = refusal { try harness.put(direct, settings, by: caller) }
                #expect(error?.code == .invalidParameter && error?.parameter == name)
            }
        }
        #expect(try harness.put(direct, .init(metadata: RawJSON(known: "{}"), isFrozen: false), by: alice))
        // The block applies whether the conversation exists, is created later, or is recreated.
        for _ in 0..<2 {
            try harness.block("alice", by: "bob")
            #expect(refusal { try harness.send(to: direct, by: "alice") }?.code == .blocked)
            try harness.send(to: direct, by: "bob")
            try harness.delete(direct)
            try harness.send("made again", to: direct, by: "bob")
            #expect(refusal { try harness.send(to: direct, by: "alice") }?.code == .blocked)
            try harness.block("alice", isOn: false, by: "bob")
            try harness.send(to: direct, by: "alice")
            try harness.delete(direct)
        }
    }

    @Test("Neither user gets the other's read marker while one of them blocks the other")
    func readReceipts() throws {
        let harness = try harness()
        try harness.send(to: direct, by: "alice")
        try harness.send(to: direct, by: "bob")
        let sessions = SessionHarness(harness)
        let devices = ["alice": sessions.device("alice"), "bob": sessions.device("bob")]
        func receipts(_ user: String) throws -> Int {
            try devices[user]?.events.count { if case .peerRead = $0 { true } else { false } } ?? 0
        }
        try harness.block("alice", by: "bob")
        for user in ["alice", "bob"] { try harness.read(direct, to: 1, by: UserID(known: user)) }
        #expect(try receipts("alice") == 0 && receipts("bob") == 0)
        try harness.block("alice", isOn: false, by: "bob")
        for user in ["alice", "bob"] { try harness.read(direct, to: 2, by: UserID(known: user)) }
        #expect(try receipts("alice") == 1)
    }

    @Test("Blocked users are listed in pages, sorted by name")
    func pages() throws {
        let harness = try harness()
        for name in ["e", "b", "d", "a", "c"] { try harness.block(UserID(known: name), by: "bob") }
        let caller = Caller(user: "bob")
        let first = try harness.perform(ListBlockedUsers(page: Paging(limit: 2)), by: caller)
        #expect(first.elements == ["a", "b"] && first.cursor == "b")
        let rest = try harness.perform(ListBlockedUsers(page: Paging(limit: 3, cursor: "b")), by: caller)
        #expect(rest.elements == ["c", "d", "e"] && rest.cursor == nil)
        let none = ListBlockedUsers(page: Paging(limit: 0))
        #expect(refusal { try harness.perform(none, by: caller) }?.parameter == "limit")
    }

    @Test("The number of blocked users is limited")
    func manyBlocked() throws {
        let harness = try harness()
        for number in 0..<BlockUser.maximumBlocked { try harness.block(UserID(known: "u\(number)"), by: "alice") }
        #expect(refusal { try harness.block("bob", by: "alice") }?.parameter == "user")
        // Blocking a blocked user again succeeds, and unblocking a user makes room for another.
        try harness.block("u1", by: "alice")
        try harness.block("u1", isOn: false, by: "alice")
        try harness.block("bob", by: "alice")
    }

    // MARK: Mutes

    @Test("A muted member can read but not write until the mute ends", .rows(88))
    func muted() throws {
        let harness = try harness()
        let message = harness.submission("mine")
        try harness.send(message, to: group, by: "bob")
        try harness.mute("bob", .until(harness.clock.now + 60), in: group)
        let error = refusal { try harness.send(to: group, by: "bob") }
        #expect(error?.code == .muted && error?.status == 403 && error?.retryAfter == 60)
        let bob = Caller(user: "bob")
        #expect(refusal { try harness.edit(message.id, in: group, "new", by: bob) }?.code == .muted)
        #expect(refusal { try harness.react("👍", to: message.id, in: group, by: bob) }?.code == .muted)
        #expect(try harness.send(message, to: group, by: "bob").outcome == .duplicate)
        #expect(try harness.page(of: group, by: "bob").messages.count == 1)
        // Muted members can delete their own messages.
        try harness.delete(message.id, in: group, by: bob)
        #expect(try harness.head(group, "bob").mute == .until(harness.clock.now + 60))
        #expect(try harness.head(group, "alice").mute == nil)
        let members = try harness.engine.members(of: group, after: nil, limit: 10, by: Caller(user: "alice"))
        #expect(members.map(\.mute) == [nil, .until(harness.clock.now + 60), nil])
        harness.clock.advance(by: 60)
        try harness.send(to: group, by: "bob")
        #expect(try harness.head(group, "bob").mute == nil)
    }

    @Test("A permanent mute lasts until it is lifted, even after rejoining, and administrators are exempt")
    func mutedForever() throws {
        let harness = try harness()
        try harness.mute("bob", .forever, in: group)
        harness.clock.advance(by: 1e9)
        let error = refusal { try harness.send(to: group, by: "bob") }
        #expect(error?.code == .muted && error?.retryAfter == nil)
        try harness.leave(group, "bob")
        try harness.join(group, "bob")
        #expect(refusal { try harness.send(to: group, by: "bob") }?.code == .muted)
        try harness.send(harness.submission(), to: group, by: Caller(user: "bob", isAdmin: true))
        try harness.mute("bob", nil, in: group)
        try harness.send(to: group, by: "bob")
    }

    @Test(
        "Moderators can mute members and moderators but not owners, and a new member can be added muted")
    func moderatorsMuteMembers() throws {
        let harness = try harness()
        try harness.join(group, "mod", as: .moderator)
        try harness.join(group, "boss", as: .owner)
        let mod = Caller(user: "mod")
        try harness.mute("bob", .forever, in: group, by: mod)
        #expect(refusal { try harness.mute("boss", .forever, in: group, by: mod) }?.code == .forbidden)
        #expect(refusal { try harness.mute("bob", nil, in: group, by: Caller(user: "carol")) }?.code == .forbidden)
        #expect(refusal { try harness.mute("nobody", .forever, in: group, by: mod) }?.code == .unknownMember)
        let isNew = try harness.done {
            harness.engine.putMember(
                "new", role: .member, mute: .some(.forever), of: group, by: EngineHarness.admin, completion: $0)
        }
        #expect(isNew)
        #expect(refusal { try harness.send(to: group, by: "new") }?.code == .muted)
        // The request fails as a whole, so a caller without the permission to mute adds no member.
        let error = refusal {
            _ = try harness.done {
                harness.engine.putMember(
                    "other", role: .member, mute: .some(.forever), of: group, by: Caller(user: "carol"), completion: $0)
            }
        }
        #expect(error?.code == .forbidden)
        #expect(refusal { _ = try harness.head(group, "other") }?.code == .unknownConversation)
    }

    @Test("Muted moderators and owners can't lift their own mute, not even together with a role")
    func mutedModeratorsCannotUnmuteThemselves() throws {
        let harness = try harness()
        try harness.join(group, "mod", as: .moderator)
        try harness.join(group, "boss", as: .owner)
        for user in ["mod", "boss"] as [UserID] {
            try harness.mute(user, .forever, in: group)
            #expect(refusal { try harness.mute(user, nil, in: group, by: Caller(user: user)) }?.code == .forbidden)
            #expect(refusal { try harness.send(to: group, by: user) }?.code == .muted)
        }
        let error = refusal {
            _ = try harness.done {
                harness.engine.putMember(
                    "boss", role: .member, mute: .some(nil), of: group, by: Caller(user: "boss"), completion: $0)
            }
        }
        #expect(error?.code == .forbidden)
        let members = try harness.engine.members(of: group, after: nil, limit: 10, by: EngineHarness.admin)
        #expect(members.first { $0.id == "boss" }?.role == .owner)
        try harness.mute("mod", nil, in: group, by: Caller(user: "boss"))
        try harness.send(to: group, by: "mod")
    }

    @Test("Administrators can mute any user in a room, which has no member list")
    func administratorsMuteInRooms() throws {
        let harness = try harness()
        try harness.put(.room("lobby"))
        try harness.mute("bob", .forever, in: .room("lobby"))
        #expect(refusal { try harness.send(to: .room("lobby"), by: "bob") }?.code == .muted)
        try harness.send(to: .room("lobby"), by: "alice")
        #expect(try harness.store.read { try $0.memberships(of: "bob") }.count == 1)
    }

    @Test("Mutes and freezes of a community apply to all of its channels")
    func communities() throws {
        let harness = try harness()
        let channel = ConversationID.community("city", channel: "general")
        try harness.make(.community("city"), members: ["alice", "bob"])
        try harness.put(channel)
        try harness.mute("bob", .forever, in: .community("city"))
        #expect(refusal { try harness.send(to: channel, by: "bob") }?.code == .muted)
        try harness.send(to: channel, by: "alice")
        try harness.mute("bob", nil, in: .community("city"))
        try harness.mute("bob", .forever, in: channel)
        #expect(refusal { try harness.send(to: channel, by: "bob") }?.code == .muted)
        try harness.send(to: .community("city"), by: "bob")
        // The head of a channel includes the mutes and freezes of its community.
        #expect(try harness.head(channel, "bob").mute == .forever && !harness.head(channel, "bob").isFrozen)
        let time = harness.clock.now + 60
        try harness.mute("bob", .until(time), in: channel)
        #expect(try harness.head(channel, "bob").mute == .until(time))
        try harness.mute("bob", .forever, in: .community("city"))
        #expect(try harness.head(channel, "bob").mute == .forever)
        #expect(try harness.head(channel, "alice").mute == nil)
        try harness.put(.community("city"), .init(isFrozen: true))
        #expect(try harness.head(channel, "alice").isFrozen)
        #expect(refusal { try harness.send(to: channel, by: "alice") }?.code == .muted)
        // A recreated conversation has no mutes.
        try harness.delete(.community("city"))
        try harness.make(.community("city"), members: ["bob"])
        try harness.send(to: .community("city"), by: "bob")
    }

    @Test("Only moderators, owners and administrators can write in a frozen conversation", .rows(88))
    func frozen() throws {
        let harness = try harness()
        try harness.join(group, "mod", as: .moderator)
        try harness.put(group, .init(isFrozen: true))
        #expect(refusal { try harness.send(to: group, by: "alice") }?.code == .muted)
        #expect(try harness.head(group, "alice").isFrozen)
        try harness.send(to: group, by: "mod")
        try harness.send(harness.submission(), to: group, by: EngineHarness.admin)
        try harness.mute("mod", .forever, in: group)
        #expect(refusal { try harness.send(to: group, by: "mod") }?.code == .muted)
        try harness.put(group, .init(isFrozen: false))
        try harness.send(to: group, by: "alice")
    }

    // MARK: Typing

    private func typing(_ device: Device) throws -> [String] {
        try device.events.compactMap { event in
            if case .typing(let id, let user, let isTyping) = event { "\(id) \(user) \(isTyping)" } else { nil }
        }
    }

    @Test("Typing events reach subscribers but not the typist's own devices, and are not stored")
    func typingEventsReachSubscribers() throws {
        let harness = try harness()
        let sessions = SessionHarness(harness)
        let (phone, laptop) = (sessions.device("alice", "phone"), sessions.device("alice", "laptop"))
        let (bob, carol) = (sessions.device("bob"), sessions.device("carol"))
        try harness.send(to: direct, by: "alice")
        let rows = try harness.head(group, "bob").head
        phone.request(SignalTyping(conversation: group, isTyping: true))
        phone.request(SignalTyping(conversation: .direct("bob"), isTyping: true))
        phone.request(SignalTyping(conversation: group, isTyping: false))
        #expect(try typing(bob) == ["group:g alice true", "direct:alice alice true", "group:g alice false"])
        #expect(try typing(carol) == ["group:g alice true", "group:g alice false"])
        #expect(try typing(phone) == [] && typing(laptop) == [])
        #expect(try harness.head(group, "bob").head == rows)
    }

    @Test("A connection sends at most one typing event per second, and one event when typing stops")
    func typingIsBounded() throws {
        let harness = try harness()
        let sessions = SessionHarness(harness)
        let (alice, bob) = (sessions.device("alice"), sessions.device("bob"))
        for _ in 0..<50 { alice.request(SignalTyping(conversation: group, isTyping: true)) }
        #expect(try typing(bob).count == 1)
        for _ in 0..<50 { alice.request(SignalTyping(conversation: group, isTyping: false)) }
        #expect(try typing(bob).count == 2)
        harness.clock.advance(by: 1)
        alice.request(SignalTyping(conversation: group, isTyping: true))
        #expect(try typing(bob).count == 3)
    }

    @Test("A conversation forwards a burst of ten typing events and then five per second, from all users together")
    func typingEventsAreThrottledPerConversation() throws {
        let harness = try harness()
        let sessions = SessionHarness(harness)
        let bob = sessions.device("bob")
        for number in 0..<40 {
            try harness.join(group, UserID(known: "user\(number)"))
            sessions.device("user\(number)").request(SignalTyping(conversation: group, isTyping: true))
        }
        #expect(try typing(bob).count == 10)
    }

    @Test(
        "Users who may not send can't send typing events, and typing of blocked users is not delivered"
    )
    func typingRefused() throws {
        let harness = try harness()
        let sessions = SessionHarness(harness)
        let (alice, bob, carol) = (sessions.device("alice"), sessions.device("bob"), sessions.device("carol"))
        try harness.send(to: direct, by: "alice")
        try harness.block("alice", by: "bob")
        #expect(
            try alice.error(alice.request(SignalTyping(conversation: .direct("bob"), isTyping: true)))?.code == .blocked
        )
        alice.request(SignalTyping(conversation: group, isTyping: true))
        #expect(try typing(bob) == [] && typing(carol) == ["group:g alice true"])
        try harness.mute("carol", .forever, in: group)
        #expect(try carol.error(carol.request(SignalTyping(conversation: group, isTyping: true)))?.code == .muted)
        let mallory = sessions.device("mallory")
        let inGroup = mallory.request(SignalTyping(conversation: group, isTyping: true))
        #expect(try mallory.error(inGroup)?.code == .unknownConversation)
        // A stranger does not learn about blocks between other users.
        let others = mallory.request(SignalTyping(conversation: direct, isTyping: true))
        #expect(try mallory.error(others)?.code == .unknownConversation)
        // Typing before the first message is accepted and reaches no device.
        let ref = mallory.request(SignalTyping(conversation: .direct("carol"), isTyping: true))
        #expect(try mallory.error(ref) == nil)
    }

    @Test("Typing is refused with the error that sending a message gets")
    func typingIsRefusedLikeSending() throws {
        let harness = try harness()
        for user in ["dave", "erin", "frank"] as [UserID] { try harness.join(group, user) }
        try harness.send(to: direct, by: "alice")
        try harness.block("alice", by: "bob")
        try harness.leave(group, "carol", by: Caller(user: "carol"))
        try harness.ban("dave", from: group)
        try harness.mute("erin", .forever, in: group)
        try harness.leave(group, "frank")
        let expected: [(user: UserID, conversation: ConversationID, code: ChatError.Code)] = [
            ("alice", direct, .blocked), ("carol", group, .notMember), ("dave", group, .banned),
            ("erin", group, .muted), ("frank", group, .notMember), ("mallory", group, .unknownConversation),
            ("mallory", .group("none"), .unknownConversation),
        ]
        for (user, conversation, code) in expected {
            let typing = refusal {
                try harness.engine.signalTyping(in: conversation, isTyping: true, by: Caller(user: user))
            }
            let sending = refusal { try harness.send(to: conversation, by: user) }
            #expect(typing?.code == code && typing?.message == sending?.message, "\(user) in \(conversation)")
        }
        try harness.put(group, .init(isFrozen: true))
        #expect(
            refusal { try harness.engine.signalTyping(in: group, isTyping: true, by: Caller(user: "bob")) }?.code
                == .muted)
    }
}
