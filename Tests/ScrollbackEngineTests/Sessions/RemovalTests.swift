import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization
import Testing

@Suite("Removed members")
struct RemovalTests {
    private let group = ConversationID.group("g")

    @Test("A member who is removed while subscribed receives nothing more from any entry point", .history(11))
    func removalFromAGroup() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        let sessions = SessionHarness(harness)
        let (phone, tablet) = (sessions.device("bob"), sessions.device("bob", "tablet"))
        phone.request(Subscribe([group]))
        try harness.send("before", to: group, by: "alice")
        let state = try harness.head(group, "bob").state
        let older = try harness.page(limit: 1, of: group, by: "bob")
        try harness.leave(group, "bob")
        try harness.send(harness.submission("after", mentions: .users(["bob"])), to: group, by: "alice")
        try harness.send(harness.submission(type: .command), to: group, by: "alice")
        try harness.put(group, .init(name: "secret name"))
        for device in [phone, tablet] {
            #expect(try device.texts == ["before"])
            guard case .member(group, "bob", nil) = try #require(try device.events.last) else {
                Issue.record("the last event is \(try device.events)")
                return
            }
        }
        // Bob can't request anything either.
        let subscribe = phone.request(Subscribe([group]))
        #expect(try phone.error(subscribe)?.code == .notMember)
        let send = phone.request(SendMessage(conversation: group, submission: harness.submission("x")))
        #expect(try phone.error(send)?.code == .notMember)
        let history = phone.request(GetHistory(conversation: group, query: HistoryQuery(.latest, limit: 100)))
        #expect(try phone.answer(history) { try LogPage(from: &$0) }.texts == ["before"])
        let position = LogPosition(conversation: group, epoch: state.epoch, view: state.view, seq: 0, rev: 0)
        #expect(
            try harness.engine.syncLogs([position], by: Caller(user: "bob"))[0].result.get().page.texts == ["before"])
        #expect(older.newer == nil)
        #expect(
            refusal { _ = try harness.engine.members(of: group, after: nil, limit: 9, by: Caller(user: "bob")) }?.code
                == .forbidden)
        try harness.send("still nothing", to: group, by: "alice")
        #expect(try phone.texts == ["before"])
    }

    @Test(
        "Removal from a community immediately ends the delivery of its public and private channels", .history(11)
    )
    func removalFromACommunity() throws {
        let harness = try EngineHarness()
        let (open, secret) = (
            ConversationID.community("c", channel: "open"), ConversationID.community("c", channel: "secret")
        )
        try harness.make(.community("c"), members: ["alice", "bob"])
        try harness.put(open)
        try harness.put(secret, .init(isPrivate: true, members: ["alice", "bob"]))
        let sessions = SessionHarness(harness)
        let bob = sessions.device("bob")
        bob.request(Subscribe([open]))
        for id in [open, secret] { try harness.send("before", to: id, by: "alice") }
        try harness.leave(.community("c"), "bob")
        for id in [open, secret] { try harness.send("after", to: id, by: "alice") }
        harness.engine.hub.announceChannelHeads()
        #expect(try bob.texts == ["before", "before"])
        let heads = try bob.events.filter { event in
            if case .head = event { return true }
            return false
        }
        #expect(heads.isEmpty)
        for id in [open, secret] {
            let ref = bob.request(Subscribe([id]))
            #expect([.notMember, .unknownConversation].contains(try bob.error(ref)?.code))
            #expect(try harness.page(of: id, by: "bob").texts == ["before"])
        }
        // A new connection receives nothing either.
        let tablet = sessions.device("bob", "tablet")
        for id in [open, secret] { try harness.send("later", to: id, by: "alice") }
        #expect(try tablet.messages.isEmpty)
        // A member who rejoins the community is not in the private channel.
        try harness.join(.community("c"), "bob")
        for id in [open, secret] { try harness.send("again", to: id, by: "alice") }
        #expect(try tablet.messages.isEmpty, "only subscribers receive a public channel")
        #expect(try harness.page(of: secret, by: "bob").texts == ["before"])
        #expect(try harness.page(of: open, by: "bob").texts == ["again", "before"])
    }

    @Test("A member who is removed from a private channel receives nothing more from any entry point", .history(11))
    func removalFromAPrivateChannel() throws {
        let harness = try EngineHarness()
        let (open, secret) = (
            ConversationID.community("c", channel: "open"), ConversationID.community("c", channel: "secret")
        )
        try harness.make(.community("c"), members: ["alice", "bob"])
        try harness.put(open)
        try harness.put(secret, .init(isPrivate: true, members: ["alice", "bob"]))
        let sessions = SessionHarness(harness)
        let (phone, tablet) = (sessions.device("bob"), sessions.device("bob", "tablet"))
        for device in [phone, tablet] { device.request(Subscribe([open, secret])) }
        for id in [open, secret] { try harness.send("before", to: id, by: "alice") }
        let state = try harness.head(secret, "bob").state
        let cursor = try harness.pass(by: "bob").cursor
        try harness.leave(secret, "bob")
        let left = try harness.pass(cursor, by: "bob")
        #expect(left.heads.map(\.isMember) == [false])

        harness.clock.advance(by: 60)
        let after = harness.submission("after", mentions: .everyone(also: ["bob"]))
        try harness.send(after, to: secret, by: "alice")
        try harness.send(harness.submission(type: .command), to: secret, by: "alice")
        try harness.put(secret, .init(name: "secret name"))
        harness.engine.hub.announceChannelHeads()
        let bob = Caller(user: "bob")
        let again = sessions.device("bob", "a new one")
        for device in [phone, tablet, again] {
            #expect(try device.texts == (device === again ? [] : ["before", "before"]))
        }
        let received = try phone.events + tablet.events + again.events
        #expect(
            !"\(received)".contains("secret name")
                && !received.contains { if case .head(secret, _) = $0 { true } else { false } })

        // No request returns anything newer of the channel.
        #expect(try phone.error(phone.request(Subscribe([secret])))?.code == .notMember)
        #expect(
            try phone.error(phone.request(SendMessage(conversation: secret, submission: harness.submission("x"))))?.code
                == .notMember)
        let page = try harness.page(of: secret, by: "bob")
        #expect(page.texts == ["before"])
        #expect((page.state.head, page.state.countedIndex, page.newer) == (1, 1, nil))
        #expect(
            try harness.page(HistoryQuery(.earliest, limit: 9, filter: .mentionsMe), of: secret, by: "bob").texts == [])
        #expect(refusal { _ = try harness.engine.message(after.id, in: secret, by: bob) }?.code == .unknownMessage)
        #expect(
            refusal { _ = try harness.page(.around(.id(after.id), before: 1, after: 1), of: secret, by: "bob") }?.code
                == .unknownMessage)
        let recents = try harness.engine.recents(RecentsListFilter(kind: .community), limit: 9, cursor: nil, by: bob).heads
        #expect(recents.map(\.lastMessage?.text) == ["before", "before"])
        #expect(recents.first { $0.conversation == secret }?.unread == 0)
        let head = try harness.head(secret, "bob")
        #expect((head.state.head, head.isMember, head.unread, head.mentions) == (1, false, 0, 0))
        let position = LogPosition(conversation: secret, epoch: state.epoch, view: state.view, seq: 0, rev: 0)
        #expect(try harness.engine.syncLogs([position], by: bob)[0].result.get().page.texts == ["before"])
        #expect(try harness.pass(left.cursor, by: "bob").heads.isEmpty)
        #expect(
            refusal { _ = try harness.engine.members(of: secret, after: nil, limit: 9, by: bob) }?.code == .forbidden)

        // The other channels of the community still reach bob.
        try harness.send("still heard", to: open, by: "alice")
        for device in [phone, tablet] { #expect(try device.texts == ["before", "before", "still heard"]) }
        #expect(try harness.page(of: open, by: "bob").texts == ["still heard", "before"])
    }

    @Test("A former member of a deleted group receives nothing from a new group with the same name", .history(11))
    func recreatedGroupExcludesFormerMembers() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        let sessions = SessionHarness(harness)
        let (alice, bob) = (sessions.device("alice"), sessions.device("bob"))
        try harness.delete(group)
        try harness.make(group, members: ["bob"])
        try harness.send("secret", to: group, by: "bob")
        #expect(try alice.messages.isEmpty)
        #expect(try bob.texts == ["secret"], "this connection did not send the message")
    }

    @Test("Subscribers of a channel that becomes private get a resync event and nothing more", .history(11))
    func subscribersOfANewlyPrivateChannelGetResync() throws {
        let harness = try EngineHarness()
        let channel = ConversationID.community("c", channel: "x")
        try harness.make(.community("c"), members: ["alice", "bob"])
        try harness.put(channel)
        let sessions = SessionHarness(harness)
        let (alice, bob) = (sessions.device("alice"), sessions.device("bob"))
        for device in [alice, bob] { device.request(Subscribe([channel])) }
        try harness.send("open", to: channel, by: "alice")
        try harness.put(channel, .init(isPrivate: true))
        try harness.join(channel, "alice")
        try harness.send("closed", to: channel, by: "alice")
        harness.engine.hub.announceChannelHeads()
        #expect(try bob.texts == ["open"])
        let asked = try bob.events.contains { event in
            if case .resync(channel) = event { return true }
            return false
        }
        #expect(asked)
        let heads = try bob.events.contains { event in
            if case .head = event { return true }
            return false
        }
        #expect(!heads)
        #expect(try alice.texts == ["open", "closed"])
    }

    @Test("A former member can't subscribe to a conversation of which they can still read a part")
    func formerMemberCannotSubscribe() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"], visibility: .everything)
        try harness.send("before", to: group, by: "alice")
        try harness.leave(group, "bob")
        let bob = SessionHarness(harness).device("bob")
        let ref = bob.request(Subscribe([group]))
        #expect(try bob.error(ref)?.code == .notMember)
        try harness.send("after", to: group, by: "alice")
        #expect(try bob.messages.isEmpty)
    }

    /// Operations that take a group away from bob.
    private static let removals: [(String, @Sendable (EngineHarness, ConversationID) throws -> Void)] = [
        ("removed", { try $0.leave($1, "bob") }),
        (
            "removed, added and removed",
            { harness, id in
                try harness.leave(id, "bob")
                try harness.join(id, "bob")
                try harness.leave(id, "bob")
            }
        ),
        (
            "deleted and recreated without bob",
            { harness, id in
                try harness.delete(id)
                try harness.make(id, members: ["alice"])
            }
        ),
    ]

    @Test(
        "A member who loses a group at any point during hello receives no later message", .history(11),
        arguments: 0..<3)
    func removalAtAnyPointDuringHello(_ index: Int) throws {
        let (name, take) = Self.removals[index]
        var moments = 0
        for moment in 1...20 {
            let store = InterruptingStore()
            let harness = try EngineHarness(store: store)
            try harness.make(group, members: ["alice", "bob"])
            let sessions = SessionHarness(harness)
            let device = sessions.connect()
            store.interrupt(after: moment) { [group] in
                try take(harness, group)
                try harness.send("after", to: group, by: "alice")
            }
            device.hello("bob")
            guard store.wasInterrupted else { break }
            moments = moment
            try harness.send("later", to: group, by: "alice")
            #expect(try device.texts == [], "\(name) after read \(moment)")
            #expect(try device.isWelcome)
            device.session.disconnected()
            #expect(harness.engine.hub.isEmpty)
        }
        #expect(moments >= 2)
    }

    /// Operations that reduce what bob sees of a group with full history visibility.
    private static let narrowings: [(String, @Sendable (EngineHarness, ConversationID, MessageID) throws -> Void)] = [
        ("narrower visibility", { harness, id, _ in try harness.put(id, .init(visibility: .sinceJoin)) }),
        ("deleted for oneself", { harness, id, message in try harness.hide([message], in: id, by: "bob") }),
        ("cleared", { harness, id, _ in try harness.clear(id, through: 1, by: "bob") }),
    ]

    @Test(
        "A member who loses visibility at any point during hello receives no change to a hidden message",
        arguments: 0..<3)
    func lostVisibilityAtAnyPointDuringHello(_ index: Int) throws {
        let (name, take) = Self.narrowings[index]
        var moments = 0
        for moment in 1...20 {
            let store = InterruptingStore()
            let harness = try EngineHarness(store: store)
            try harness.make(group, members: ["alice"], visibility: .everything)
            let message = harness.submission("early")
            try harness.send(message, to: group, by: "alice")
            try harness.join(group, "bob")
            let device = SessionHarness(harness).connect()
            store.interrupt(after: moment) { [group] in try take(harness, group, message.id) }
            device.hello("bob")
            guard store.wasInterrupted else { break }
            moments = moment
            try harness.edit(message.id, in: group, "edited", by: Caller(user: "alice"))
            let isReceived = try device.events.contains { if case .changed = $0 { true } else { false } }
            #expect(!isReceived, "\(name) after read \(moment)")
        }
        #expect(moments >= 2)
    }

    /// Operations that take a community channel away from bob.
    private static let channelRemovals: [(String, @Sendable (EngineHarness, ConversationID) throws -> Void)] = [
        ("removed from the community", { harness, _ in try harness.leave(.community("c"), "bob") }),
        (
            "made private",
            { harness, id in
                try harness.put(id, .init(isPrivate: true))
                try harness.join(id, "alice")
            }
        ),
        (
            "deleted and recreated as a private channel",
            { harness, id in
                try harness.delete(id)
                try harness.put(id, .init(isPrivate: true, members: ["alice"]))
            }
        ),
    ]

    @Test(
        "A member who loses a channel at any point during a subscription receives no later message", .history(11),
        arguments: 0..<3)
    func removalAtAnyPointDuringSubscription(_ index: Int) throws {
        let (name, take) = Self.channelRemovals[index]
        let channel = ConversationID.community("c", channel: "x")
        var moments = 0
        for moment in 1...20 {
            let store = InterruptingStore()
            let harness = try EngineHarness(store: store)
            try harness.make(.community("c"), members: ["alice", "bob"])
            try harness.put(channel)
            let device = SessionHarness(harness).device("bob")
            store.interrupt(after: moment) {
                try take(harness, channel)
                try harness.send("after", to: channel, by: "alice")
            }
            device.request(Subscribe([channel]))
            guard store.wasInterrupted else { break }
            moments = moment
            try harness.send("later", to: channel, by: "alice")
            #expect(try device.texts == [], "\(name) after read \(moment)")
        }
        #expect(moments >= 2)
    }

    @Test("A message at any point during a subscription is in the returned heads or delivered as an event")
    func subscriptionMissesNoMessage() throws {
        let channel = ConversationID.community("c", channel: "x")
        for moment in 1...20 {
            let store = InterruptingStore()
            let harness = try EngineHarness(store: store)
            try harness.make(.community("c"), members: ["alice", "bob"])
            try harness.put(channel)
            let device = SessionHarness(harness).device("bob")
            store.interrupt(after: moment) { try harness.send("meanwhile", to: channel, by: "alice") }
            let ref = device.request(Subscribe([channel]))
            guard store.wasInterrupted else { break }
            var heads: [ConversationHead] = []
            try device.answer(ref) { reader in
                try reader.object { (name, value) throws(ChatError) in
                    guard name == "heads" else { return try value.skip() }
                    heads = try value.list("heads", limit: 9) { (head) throws(ChatError) in
                        try ConversationHead(from: &head)
                    }
                }
            }
            #expect(try heads.first?.state.head == 1 || device.texts == ["meanwhile"], "after read \(moment)")
        }
    }

    @Test("A user who loses and regains access to a channel receives it after another subscription")
    func regainedChannelNeedsAnotherSubscription() throws {
        let harness = try EngineHarness()
        let channel = ConversationID.community("c", channel: "x")
        try harness.make(.community("c"), members: ["alice", "bob"])
        try harness.put(channel)
        let device = SessionHarness(harness).device("bob")
        device.request(Subscribe([channel]))
        try harness.put(channel, .init(isPrivate: true))
        try harness.put(channel, .init(isPrivate: false))
        try harness.send("not asked", to: channel, by: "alice")
        device.request(Subscribe([channel]))
        try harness.send("asked", to: channel, by: "alice")
        #expect(try device.texts == ["asked"])
    }

    @Test("A member who is removed during hello receives no later message", .history(11), arguments: 1...4)
    func removalDuringHello(_ part: Int) throws {
        let harness = try EngineHarness(execution: .thread)
        let sessions = SessionHarness(harness)
        for round in 0..<25 {
            let id = ConversationID.group(Identifier(known: "g\(part)-\(round)"))
            let secret = ConversationID.community(Identifier(known: "c\(part)-\(round)"), channel: "secret")
            try harness.make(id, members: ["alice", "bob"])
            try harness.make(.community(secret.target), members: ["alice", "bob"])
            try harness.put(secret, .init(isPrivate: true, members: ["alice", "bob"]))
            let devices = (0..<3).map { _ in sessions.connect() }
            let failure = Mutex<(any Error)?>(nil)
            DispatchQueue.concurrentPerform(iterations: 4) { worker in
                guard worker == 3 else { return devices[worker].hello("bob", "device \(worker)") }
                do {
                    try harness.leave(id, "bob")
                    try harness.leave(.community(secret.target), "bob")
                    try harness.send("after", to: id, by: "alice")
                    try harness.send("after", to: secret, by: "alice")
                } catch {
                    failure.withLock { $0 = error }
                }
            }
            #expect(failure.withLock { $0 } == nil)
            for device in devices { #expect(try device.texts == []) }
            try harness.send("much later", to: id, by: "alice")
            try harness.send("much later", to: secret, by: "alice")
            for device in devices {
                #expect(try device.texts == [])
                #expect(try device.isWelcome)
                device.session.disconnected()
            }
        }
        #expect(harness.engine.hub.isEmpty)
    }

    @Test("A member who is added during hello receives messages after the welcome", arguments: 1...2)
    func additionDuringHello(_ part: Int) throws {
        let harness = try EngineHarness(execution: .thread)
        let sessions = SessionHarness(harness)
        for round in 0..<25 {
            let id = ConversationID.group(Identifier(known: "g\(part)-\(round)"))
            try harness.make(id, members: ["alice"])
            let device = sessions.connect()
            DispatchQueue.concurrentPerform(iterations: 2) { worker in
                if worker == 0 { device.hello("bob") } else { _ = try? harness.join(id, "bob") }
            }
            try harness.send("after", to: id, by: "alice")
            #expect(try device.texts == ["after"])
            device.session.disconnected()
        }
    }

    @Test("A member who is removed during a subscription receives no later message")
    func removalDuringSubscription() throws {
        let harness = try EngineHarness(execution: .thread)
        let sessions = SessionHarness(harness)
        let open = ConversationID.community("c", channel: "default")
        try harness.make(.community("c"), members: ["alice"])
        for _ in 0..<40 {
            try harness.join(.community("c"), "bob")
            let device = sessions.device("bob")
            DispatchQueue.concurrentPerform(iterations: 2) { worker in
                if worker == 0 {
                    device.request(Subscribe([open]))
                } else {
                    try? harness.leave(.community("c"), "bob")
                    _ = try? harness.send("after", to: open, by: "alice") as Seq
                }
            }
            try harness.send("later", to: open, by: "alice")
            #expect(try device.texts == [])
            device.session.disconnected()
        }
    }
}
