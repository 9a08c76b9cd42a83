import ContractRows
import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import ScrollbackWire
import Synchronization
import TestSupport
import Testing

@Suite("Members, invitations and presence in the client", .timeLimit(.minutes(10)))
struct PeopleTests {
    private let group = ConversationID.group("swift")

    private func server() async throws -> (server: TestServer, alice: ChatClient, bob: ChatClient) {
        let server = try TestServer(users: ["alice", "bob", "carol"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let (alice, bob) = (try await server.client("alice"), try await server.client("bob"))
        for client in [alice, bob] { try await client.ready() }
        return (server, alice, bob)
    }

    // MARK: Read receipts

    @Test("The peer's read position shows on every client, including offline and new ones")
    func receipts() async throws {
        let (server, alice, bob) = try await server()
        let laptop = try await server.client("alice")
        let sent = try await alice.conversation(.direct("bob")).send(.text("hi")).waitUntilSent()
        let his = bob.conversation(.direct("alice"))
        #expect(try await eventually { try await bob.texts(in: .direct("alice")) == ["hi"] })
        server.goOffline("alice")
        try await his.markRead()
        #expect(
            try await eventually {
                try server.engine.head(of: .direct("bob"), by: Caller(user: "alice")).peerReadSeq == sent.seq
            })
        server.goOnline("alice")
        let tablet = try await server.client("alice")
        for device in [alice, laptop, tablet] {
            let chat = device.conversation(.direct("bob"))
            #expect(try await eventually { try await chat.recent()?.peerReadSeq == sent.seq })
            for await view in chat.timeline().views {
                #expect(view.peerReadSeq == sent.seq)
                break
            }
        }
        // The position also updates on connected clients.
        let next = try await alice.conversation(.direct("bob")).send(.text("again")).waitUntilSent()
        #expect(try await eventually { try await bob.texts(in: .direct("alice")) == ["hi", "again"] })
        try await his.markRead()
        for device in [alice, laptop, tablet] {
            let chat = device.conversation(.direct("bob"))
            #expect(try await eventually { try await chat.recent()?.peerReadSeq == next.seq })
        }
        #expect(try await his.recent()?.peerReadSeq == 0)
        await server.close()
    }

    @Test("The readers of a group message are requested and come with their profiles")
    func readers() async throws {
        let (server, alice, bob) = try await server()
        let chat = alice.conversation(group)
        let sent = try await chat.send(.text("hi")).waitUntilSent()
        #expect(try await chat.readers(of: sent.id).readers.isEmpty)
        #expect(try await eventually { try await bob.texts(in: group) == ["hi"] })
        try await bob.conversation(group).markRead()
        #expect(try await eventually { try await chat.readers(of: sent.id).readers.map(\.id) == ["bob"] })
        let page = try await chat.readers(of: sent.id)
        #expect(page.profiles["bob"]?.name == "Bob" && page.next == nil)
        let error = await #expect(throws: ChatError.self) { try await chat.readers(of: sent.id, limit: 0) }
        #expect(error?.parameter == "limit")
        try await server.set { $0.people.readReceipts = false }
        let off = await #expect(throws: ChatError.self) { try await chat.readers(of: sent.id) }
        #expect(off?.code == .featureOff)
        await server.close()
    }

    // MARK: Members

    @Test("A client lists, adds and removes members, sets roles, and leaves a group")
    func members() async throws {
        let (server, alice, bob) = try await server()
        let chat = alice.conversation(group)
        try await chat.add("carol")
        try await chat.setRole(.moderator, of: "carol")
        // Adding a member again as a plain member keeps the role.
        try await chat.add("carol")
        try await chat.mute("bob", .forever).waitForCompletion()
        let page = try await chat.members()
        #expect(page.members.map(\.id) == ["alice", "bob", "carol"])
        #expect(page.members.map(\.role) == [.owner, .member, .moderator])
        #expect(page.members.map(\.mute) == [nil, .forever, nil])
        #expect(page.profiles["carol"]?.name == "Carol" && page.next == nil)
        let first = try await chat.members(limit: 2)
        #expect(try await chat.members(after: first.next).members.map(\.id) == ["carol"])
        let refused = await #expect(throws: ChatError.self) {
            try await bob.conversation(group).remove("carol").waitForCompletion()
        }
        #expect(refused?.code == .forbidden)
        try await chat.remove("carol").waitForCompletion()
        try await bob.conversation(group).leave().waitForCompletion()
        #expect(try await chat.members().members.map(\.id) == ["alice"])
        let none = await #expect(throws: ChatError.self) { try await chat.remove("carol").waitForCompletion() }
        #expect(none?.code == .unknownMember)
        await server.close()
    }

    @Test("Offline changes of members are shown at once, made once and in order, and undone if the server refuses them")
    func offlineMembers() async throws {
        let folder = try TemporaryFolder()
        let server = try TestServer(users: ["alice", "bob", "carol", "dave"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        var alice = try await server.client("alice", store: .directory(folder.url))
        try await alice.ready()
        #expect(try await alice.conversation(group).members().members.map(\.id) == ["alice", "bob"])
        server.goOffline("alice")
        var chat = alice.conversation(group)
        try await chat.add("carol")
        try await chat.setRole(.moderator, of: "carol")
        try await chat.remove("bob")
        try await chat.mute("carol", .forever)
        let message = try await chat.send(.text("welcome"))
        func shown() async throws -> [String] {
            try await chat.members().members.map { "\($0.id) \($0.role)\($0.mute == nil ? "" : " muted")" }
        }
        let wanted = ["alice owner", "carol moderator muted"]
        #expect(try await shown() == wanted)
        #expect(try await chat.members().remoteError != nil)
        await alice.close()

        alice = try await server.client("alice", store: .directory(folder.url))
        chat = alice.conversation(group)
        #expect(try await shown() == wanted)
        server.goOnline("alice")
        _ = try await chat.sendHandle(for: message.id).waitUntilSent()
        #expect(try await shown() == wanted)
        #expect(try await chat.members().remoteError == nil)
        // Dave accepts only invitations.
        let dave = try await server.client("dave")
        try await dave.updateProfile(isInvitationOnly: true).waitForCompletion()
        server.goOffline("alice")
        let handle = try await chat.add("dave")
        #expect(try await shown() == ["alice owner", "carol moderator muted", "dave member"])
        server.goOnline("alice")
        let error = await #expect(throws: ChatError.self) { try await handle.waitForCompletion() }
        #expect(error?.code == .invitationRequired)
        #expect(try await shown() == wanted)
        await server.close()
    }

    @Test("A list of members has a change that was made before, also if the server read the list before the change")
    func earlyList() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let changes = HeldTransport(requests: { $0.type == "putMember" })
        let lists = HeldTransport(answersTo: { $0.type == "members" })
        let alice = try await server.client("alice") {
            changes.use(in: &$0)
            lists.use(in: &$0)
        }
        try await alice.ready()
        let chat = alice.conversation(group)
        for held in [changes, lists] { held.hold() }
        let change = try await chat.setRole(.moderator, of: "bob")
        try #require(try await eventually { changes.heldCount == 1 })
        async let page = chat.members()
        try #require(try await eventually { lists.heldCount == 1 })
        changes.release()
        try await change.waitForCompletion()
        lists.release()
        #expect(try await page.members.map(\.role) == [.owner, .moderator])
        await server.close()
    }

    @Test("A change of members over the daily quota fails, and does not delay later messages")
    func membersOverTheQuota() async throws {
        let (server, alice, _) = try await server()
        server.startNextDay()
        try await server.set { $0.quotas[.members] = 1 }
        let chat = alice.conversation(group)
        try await chat.add("carol").waitForCompletion()
        server.goOffline("alice")
        let handle = try await chat.add("dave")
        let message = try await chat.send(.text("hi"))
        server.goOnline("alice")
        _ = try await message.waitUntilSent()
        let error = await #expect(throws: ChatError.self) { try await handle.waitForCompletion() }
        #expect(error?.code == .rateLimited)
        #expect(try await chat.members().members.map(\.id) == ["alice", "bob", "carol"])
        try await server.set { $0.quotas[.members] = nil }
        try await handle.retry()
        try await handle.waitForCompletion()
        #expect(try await chat.members().members.map(\.id) == ["alice", "bob", "carol", "dave"])
        await server.close()
    }

    @Test("A user who leaves offline has no unread messages there, and has left after reconnecting")
    func leaveOffline() async throws {
        let (server, alice, bob) = try await server()
        _ = try await alice.conversation(group).send(.text("hi")).waitUntilSent()
        #expect(try await eventually { try await bob.recents[group]?.unread == 1 })
        server.goOffline("bob")
        let left = try await bob.conversation(group).leave()
        #expect(try await bob.recents[group]?.unread == 0)
        #expect(try await bob.recents.view(limit: 5).totalUnread == 0)
        server.goOnline("bob")
        try await left.waitForCompletion()
        #expect(try await eventually { try await alice.conversation(group).members().members.map(\.id) == ["alice"] })
        await server.close()
    }

    @Test("A client knows whether its user is muted or the conversation is frozen, and when that ends")
    func muteAndFreezeAreKnown() async throws {
        let (server, alice, bob) = try await server()
        let (hers, his) = (alice.conversation(group), bob.conversation(group))
        _ = try await hers.send(.text("hi")).waitUntilSent()
        #expect(try await eventually { try await his.recent() != nil })
        let end = Date(timeIntervalSince1970: (server.now.timeIntervalSince1970 + 3600).rounded())
        for mute in [.forever, .until(end), nil] as [Mute?] {
            try await hers.mute("bob", mute)
            #expect(try await eventually { try await his.recent()?.mute == mute })
            #expect(try await hers.recent()?.mute == nil)
        }
        for isFrozen in [true, false] {
            try await server.setFrozen(isFrozen, group)
            for chat in [hers, his] {
                #expect(try await eventually { try await chat.recent()?.isFrozen == isFrozen })
                for await view in chat.timeline().views {
                    #expect(view.isFrozen == isFrozen && view.mute == nil)
                    break
                }
            }
        }
        await server.close()
    }

    // MARK: Invitations

    @Test("An invited user gets an event, sees the invitation in the list, and joins or declines")
    func invitations() async throws {
        let (server, alice, bob) = try await server()
        let carol = try await server.client("carol")
        // After its first answer, the client receives events for its user.
        #expect(try await carol.invitations() == [])
        let events = carol.events
        let (hers, theirs) = (alice.conversation(group), carol.conversation(group))
        let invitation = try await hers.invite("carol", for: .seconds(3600))
        for await case .invitation(let received) in events {
            #expect(received == invitation && received.name == "swift")
            break
        }
        #expect(try await carol.invitations() == [invitation])
        #expect(try await hers.invitations() == [invitation])
        try await theirs.declineInvitation()
        #expect(try await carol.invitations() == [])
        let refused = await #expect(throws: ChatError.self) { try await theirs.join() }
        #expect(refused?.code == .unknownConversation)
        try await hers.invite("carol")
        try await hers.revokeInvitation(of: "carol")
        #expect(try await carol.invitations() == [])
        try await hers.invite("carol")
        try await theirs.join()
        #expect(try await hers.members().members.map(\.id) == ["alice", "bob", "carol"])
        #expect(try await hers.invitations() == [])
        let forbidden = await #expect(throws: ChatError.self) { try await bob.conversation(group).invite("dave") }
        #expect(forbidden?.code == .forbidden)
        let range = await #expect(throws: ChatError.self) { try await hers.invite("dave", for: .seconds(1)) }
        #expect(range?.parameter == "expiresIn")
        await server.close()
    }

    @Test("Member requests for a community's default channel refer to the community's members")
    func community() async throws {
        let (server, alice, _) = try await server()
        try await server.makeCommunity("city", channels: ["general"], members: ["alice"])
        let admin = try await server.client("admin")
        let city = ConversationID.community("city")
        try await admin.conversation(city).add("bob").waitForCompletion()
        try await admin.conversation(city).invite("carol")
        let carol = try await server.client("carol")
        #expect(try await carol.invitations().map(\.conversation) == [city])
        try await carol.conversation(city).join()
        for id in [city, .community("city", channel: "general")] as [ConversationID] {
            #expect(try await alice.conversation(id).members().members.map(\.id) == ["alice", "bob", "carol"])
        }
        let channel = admin.conversation(.community("city", channel: "general"))
        let error = await #expect(throws: ChatError.self) { try await channel.add("dave").waitForCompletion() }
        #expect(error?.code == .invalidParameter && error?.parameter == "conversation")
        try await carol.conversation(city).leave().waitForCompletion()
        #expect(try await alice.conversation(city).members().members.map(\.id) == ["alice", "bob"])
        await server.close()
    }

    // MARK: Presence

    @Test("Presence updates arrive while an app observes them, including after a lost connection")
    func presence() async throws {
        let (server, alice, _) = try await server()
        let off = await #expect(throws: ChatError.self) { try await alice.fetchPresence(of: ["carol"]) }
        #expect(off?.code == .featureOff)
        try await server.set { $0.people.presence = true }
        #expect(try await alice.fetchPresence(of: ["carol"]) == ["carol": Presence(isOnline: false)])
        let shown = Shown()
        let stream = try alice.presence(of: ["carol"])
        let task = Task { for await view in stream { shown.last = view } }
        func shows(_ wanted: [UserID: Presence]) async throws -> Bool {
            try await eventually { shown.last == wanted }
        }
        #expect(try await shows(["carol": Presence(isOnline: false)]))
        let carol = try await server.client("carol") { $0.sharesPresence = true }
        #expect(try await shows(["carol": Presence(isOnline: true)]))
        server.goOffline("alice")
        #expect(try await shows([:]))
        server.goOnline("alice")
        #expect(try await shows(["carol": Presence(isOnline: true)]))
        await carol.setActive(false)
        _ = try await carol.fetchPresence(of: ["alice"])
        server.advance(by: 6)
        #expect(try await eventually { shown.last?["carol"]?.lastSeen != nil })
        await carol.setActive(true)
        #expect(try await shows(["carol": Presence(isOnline: true)]))
        task.cancel()
        #expect(try await eventually { (server.requests(of: "alice")["presence"] ?? 0) == 5 })
        #expect(throws: ChatError.self) { try alice.presence(of: []) }
        await server.close()
    }
}

/// The last value of a presence stream.
private final class Shown: Sendable {
    private let state = Mutex<[UserID: Presence]?>(nil)

    var last: [UserID: Presence]? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
