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
    func fromAGroup() throws {
        let world = try World()
        try world.make(group, members: ["alice", "bob"])
        let doors = Doors(world)
        let (phone, tablet) = (doors.device("bob"), doors.device("bob", "tablet"))
        phone.request(Subscribe([group]))
        try world.send("before", to: group, by: "alice")
        let state = try world.head(group, "bob").state
        let older = try world.page(limit: 1, of: group, by: "bob")
        try world.leave(group, "bob")
        try world.send(world.submission("after", mentions: .users(["bob"])), to: group, by: "alice")
        try world.send(world.submission(type: .command), to: group, by: "alice")
        try world.put(group, .init(name: "secret name"))
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
        let send = phone.request(SendMessage(conversation: group, submission: world.submission("x")))
        #expect(try phone.error(send)?.code == .notMember)
        let history = phone.request(GetHistory(conversation: group, query: HistoryQuery(.latest, limit: 100)))
        #expect(try phone.answer(history) { try LogPage(from: &$0) }.texts == ["before"])
        let position = LogPosition(conversation: group, epoch: state.epoch, view: state.view, seq: 0, rev: 0)
        #expect(try world.engine.syncLogs([position], by: Caller(user: "bob"))[0].result.get().page.texts == ["before"])
        #expect(older.newer == nil)
        #expect(
            refusal { _ = try world.engine.members(of: group, after: nil, limit: 9, by: Caller(user: "bob")) }?.code
                == .forbidden)
        try world.send("still nothing", to: group, by: "alice")
        #expect(try phone.texts == ["before"])
    }

    @Test(
        "Removal from a community immediately ends the delivery of its public and private channels", .history(11)
    )
    func fromACommunity() throws {
        let world = try World()
        let (open, secret) = (
            ConversationID.community("c", channel: "open"), ConversationID.community("c", channel: "secret")
        )
        try world.make(.community("c"), members: ["alice", "bob"])
        try world.put(open)
        try world.put(secret, .init(isPrivate: true, members: ["alice", "bob"]))
        let doors = Doors(world)
        let bob = doors.device("bob")
        bob.request(Subscribe([open]))
        for id in [open, secret] { try world.send("before", to: id, by: "alice") }
        try world.leave(.community("c"), "bob")
        for id in [open, secret] { try world.send("after", to: id, by: "alice") }
        world.engine.hub.announceMovedChannels()
        #expect(try bob.texts == ["before", "before"])
        let heads = try bob.events.filter { event in
            if case .head = event { return true }
            return false
        }
        #expect(heads.isEmpty)
        for id in [open, secret] {
            let ref = bob.request(Subscribe([id]))
            #expect([.notMember, .unknownConversation].contains(try bob.error(ref)?.code))
            #expect(try world.page(of: id, by: "bob").texts == ["before"])
        }
        // A new connection receives nothing either.
        let tablet = doors.device("bob", "tablet")
        for id in [open, secret] { try world.send("later", to: id, by: "alice") }
        #expect(try tablet.messages.isEmpty)
        // A member who rejoins the community is not in the private channel.
        try world.join(.community("c"), "bob")
        for id in [open, secret] { try world.send("again", to: id, by: "alice") }
        #expect(try tablet.messages.isEmpty, "only subscribers receive a public channel")
        #expect(try world.page(of: secret, by: "bob").texts == ["before"])
        #expect(try world.page(of: open, by: "bob").texts == ["again", "before"])
    }

    @Test("A member who is removed from a private channel receives nothing more from any entry point", .history(11))
    func fromAPrivateChannel() throws {
        let world = try World()
        let (open, secret) = (
            ConversationID.community("c", channel: "open"), ConversationID.community("c", channel: "secret")
        )
        try world.make(.community("c"), members: ["alice", "bob"])
        try world.put(open)
        try world.put(secret, .init(isPrivate: true, members: ["alice", "bob"]))
        let doors = Doors(world)
        let (phone, tablet) = (doors.device("bob"), doors.device("bob", "tablet"))
        for device in [phone, tablet] { device.request(Subscribe([open, secret])) }
        for id in [open, secret] { try world.send("before", to: id, by: "alice") }
        let state = try world.head(secret, "bob").state
        let cursor = try world.pass(by: "bob").cursor
        try world.leave(secret, "bob")
        let left = try world.pass(cursor, by: "bob")
        #expect(left.heads.map(\.isMember) == [false])

        world.clock.advance(by: 60)
        let after = world.submission("after", mentions: .everyone(also: ["bob"]))
        try world.send(after, to: secret, by: "alice")
        try world.send(world.submission(type: .command), to: secret, by: "alice")
        try world.put(secret, .init(name: "secret name"))
        world.engine.hub.announceMovedChannels()
        let bob = Caller(user: "bob")
        let again = doors.device("bob", "a new one")
        for device in [phone, tablet, again] {
            #expect(try device.texts == (device === again ? [] : ["before", "before"]))
        }
        let heard = try phone.events + tablet.events + again.events
        #expect(
            !"\(heard)".contains("secret name")
                && !heard.contains { if case .head(secret, _) = $0 { true } else { false } })

        // No request returns anything newer of the channel.
        #expect(try phone.error(phone.request(Subscribe([secret])))?.code == .notMember)
        #expect(
            try phone.error(phone.request(SendMessage(conversation: secret, submission: world.submission("x"))))?.code
                == .notMember)
        let page = try world.page(of: secret, by: "bob")
        #expect(page.texts == ["before"])
        #expect((page.state.head, page.state.n, page.newer) == (1, 1, nil))
        #expect(
            try world.page(HistoryQuery(.earliest, limit: 9, filter: .mentionsMe), of: secret, by: "bob").texts == [])
        #expect(refusal { _ = try world.engine.message(after.id, in: secret, by: bob) }?.code == .unknownMessage)
        #expect(
            refusal { _ = try world.page(.around(.id(after.id), before: 1, after: 1), of: secret, by: "bob") }?.code
                == .unknownMessage)
        let recents = try world.engine.recents(ListFilter(kind: .community), limit: 9, cursor: nil, by: bob).heads
        #expect(recents.map(\.lastMessage?.text) == ["before", "before"])
        #expect(recents.first { $0.conversation == secret }?.unread == 0)
        let head = try world.head(secret, "bob")
        #expect((head.state.head, head.isMember, head.unread, head.mentions) == (1, false, 0, 0))
        let position = LogPosition(conversation: secret, epoch: state.epoch, view: state.view, seq: 0, rev: 0)
        #expect(try world.engine.syncLogs([position], by: bob)[0].result.get().page.texts == ["before"])
        #expect(try world.pass(left.cursor, by: "bob").heads.isEmpty)
        #expect(refusal { _ = try world.engine.members(of: secret, after: nil, limit: 9, by: bob) }?.code == .forbidden)

        // The other channels of the community still reach bob.
        try world.send("still heard", to: open, by: "alice")
        for device in [phone, tablet] { #expect(try device.texts == ["before", "before", "still heard"]) }
        #expect(try world.page(of: open, by: "bob").texts == ["still heard", "before"])
    }

    @Test("A former member of a deleted group receives nothing from a new group with the same name", .history(11))
    func remade() throws {
        let world = try World()
        try world.make(group, members: ["alice", "bob"])
        let doors = Doors(world)
        let (alice, bob) = (doors.device("alice"), doors.device("bob"))
        try world.delete(group)
        try world.make(group, members: ["bob"])
        try world.send("secret", to: group, by: "bob")
        #expect(try alice.messages.isEmpty)
        #expect(try bob.texts == ["secret"], "this connection did not send the message")
    }

    @Test("Subscribers of a channel that becomes private get a resync event and nothing more", .history(11))
    func madePrivate() throws {
        let world = try World()
        let channel = ConversationID.community("c", channel: "x")
        try world.make(.community("c"), members: ["alice", "bob"])
        try world.put(channel)
        let doors = Doors(world)
        let (alice, bob) = (doors.device("alice"), doors.device("bob"))
        for device in [alice, bob] { device.request(Subscribe([channel])) }
        try world.send("open", to: channel, by: "alice")
        try world.put(channel, .init(isPrivate: true))
        try world.join(channel, "alice")
        try world.send("closed", to: channel, by: "alice")
        world.engine.hub.announceMovedChannels()
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
    func leftSubscriber() throws {
        let world = try World()
        try world.make(group, members: ["alice", "bob"], visibility: .everything)
        try world.send("before", to: group, by: "alice")
        try world.leave(group, "bob")
        let bob = Doors(world).device("bob")
        let ref = bob.request(Subscribe([group]))
        #expect(try bob.error(ref)?.code == .notMember)
        try world.send("after", to: group, by: "alice")
        #expect(try bob.messages.isEmpty)
    }

    /// Operations that take a group away from bob.
    private static let takings: [(String, @Sendable (World, ConversationID) throws -> Void)] = [
        ("removed", { try $0.leave($1, "bob") }),
        (
            "removed, added and removed",
            { world, id in
                try world.leave(id, "bob")
                try world.join(id, "bob")
                try world.leave(id, "bob")
            }
        ),
        (
            "deleted and recreated without bob",
            { world, id in
                try world.delete(id)
                try world.make(id, members: ["alice"])
            }
        ),
    ]

    @Test(
        "A member who loses a group at any point during hello receives no later message", .history(11),
        arguments: 0..<3)
    func atEveryMomentOfHello(_ index: Int) throws {
        let (name, take) = Self.takings[index]
        var moments = 0
        for moment in 1...20 {
            let store = InterruptingStore()
            let world = try World(store: store)
            try world.make(group, members: ["alice", "bob"])
            let doors = Doors(world)
            let device = doors.connect()
            store.interrupt(after: moment) { [group] in
                try take(world, group)
                try world.send("after", to: group, by: "alice")
            }
            device.hello("bob")
            guard store.wasInterrupted else { break }
            moments = moment
            try world.send("later", to: group, by: "alice")
            #expect(try device.texts == [], "\(name) after read \(moment)")
            #expect(try device.isWelcome)
            device.session.disconnected()
            #expect(world.engine.hub.isEmpty)
        }
        #expect(moments >= 2)
    }

    /// Operations that reduce what bob sees of a group with full history visibility.
    private static let narrowings: [(String, @Sendable (World, ConversationID, MessageID) throws -> Void)] = [
        ("narrower visibility", { world, id, _ in try world.put(id, .init(visibility: .sinceJoin)) }),
        ("deleted for oneself", { world, id, message in try world.hide([message], in: id, by: "bob") }),
        ("cleared", { world, id, _ in try world.clear(id, through: 1, by: "bob") }),
    ]

    @Test(
        "A member who loses visibility at any point during hello receives no change to a hidden message",
        arguments: 0..<3)
    func lessToSeeAtEveryMomentOfHello(_ index: Int) throws {
        let (name, take) = Self.narrowings[index]
        var moments = 0
        for moment in 1...20 {
            let store = InterruptingStore()
            let world = try World(store: store)
            try world.make(group, members: ["alice"], visibility: .everything)
            let message = world.submission("early")
            try world.send(message, to: group, by: "alice")
            try world.join(group, "bob")
            let device = Doors(world).connect()
            store.interrupt(after: moment) { [group] in try take(world, group, message.id) }
            device.hello("bob")
            guard store.wasInterrupted else { break }
            moments = moment
            try world.edit(message.id, in: group, "edited", by: Caller(user: "alice"))
            let isHeard = try device.events.contains { if case .changed = $0 { true } else { false } }
            #expect(!isHeard, "\(name) after read \(moment)")
        }
        #expect(moments >= 2)
    }

    /// Operations that take a community channel away from bob.
    private static let channelTakings: [(String, @Sendable (World, ConversationID) throws -> Void)] = [
        ("removed from the community", { world, _ in try world.leave(.community("c"), "bob") }),
        (
            "made private",
            { world, id in
                try world.put(id, .init(isPrivate: true))
                try world.join(id, "alice")
            }
        ),
        (
            "deleted and recreated as a private channel",
            { world, id in
                try world.delete(id)
                try world.put(id, .init(isPrivate: true, members: ["alice"]))
            }
        ),
    ]

    @Test(
        "A member who loses a channel at any point during a subscription receives no later message", .history(11),
        arguments: 0..<3)
    func atEveryMomentOfSubscribing(_ index: Int) throws {
        let (name, take) = Self.channelTakings[index]
        let channel = ConversationID.community("c", channel: "x")
        var moments = 0
        for moment in 1...20 {
            let store = InterruptingStore()
            let world = try World(store: store)
            try world.make(.community("c"), members: ["alice", "bob"])
            try world.put(channel)
            let device = Doors(world).device("bob")
            store.interrupt(after: moment) {
                try take(world, channel)
                try world.send("after", to: channel, by: "alice")
            }
            device.request(Subscribe([channel]))
            guard store.wasInterrupted else { break }
            moments = moment
            try world.send("later", to: channel, by: "alice")
            #expect(try device.texts == [], "\(name) after read \(moment)")
        }
        #expect(moments >= 2)
    }

    @Test("A message at any point during a subscription is in the returned heads or delivered as an event")
    func nothingBetween() throws {
        let channel = ConversationID.community("c", channel: "x")
        for moment in 1...20 {
            let store = InterruptingStore()
            let world = try World(store: store)
            try world.make(.community("c"), members: ["alice", "bob"])
            try world.put(channel)
            let device = Doors(world).device("bob")
            store.interrupt(after: moment) { try world.send("meanwhile", to: channel, by: "alice") }
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
    func back() throws {
        let world = try World()
        let channel = ConversationID.community("c", channel: "x")
        try world.make(.community("c"), members: ["alice", "bob"])
        try world.put(channel)
        let device = Doors(world).device("bob")
        device.request(Subscribe([channel]))
        try world.put(channel, .init(isPrivate: true))
        try world.put(channel, .init(isPrivate: false))
        try world.send("not asked", to: channel, by: "alice")
        device.request(Subscribe([channel]))
        try world.send("asked", to: channel, by: "alice")
        #expect(try device.texts == ["asked"])
    }

    @Test("A member who is removed during hello receives no later message", .history(11), arguments: 1...4)
    func duringHello(_ part: Int) throws {
        let world = try World(execution: .thread)
        let doors = Doors(world)
        for round in 0..<25 {
            let id = ConversationID.group(Identifier(known: "g\(part)-\(round)"))
            let secret = ConversationID.community(Identifier(known: "c\(part)-\(round)"), channel: "secret")
            try world.make(id, members: ["alice", "bob"])
            try world.make(.community(secret.target), members: ["alice", "bob"])
            try world.put(secret, .init(isPrivate: true, members: ["alice", "bob"]))
            let devices = (0..<3).map { _ in doors.connect() }
            let failure = Mutex<(any Error)?>(nil)
            DispatchQueue.concurrentPerform(iterations: 4) { worker in
                guard worker == 3 else { return devices[worker].hello("bob", "device \(worker)") }
                do {
                    try world.leave(id, "bob")
                    try world.leave(.community(secret.target), "bob")
                    try world.send("after", to: id, by: "alice")
                    try world.send("after", to: secret, by: "alice")
                } catch {
                    failure.withLock { $0 = error }
                }
            }
            #expect(failure.withLock { $0 } == nil)
            for device in devices { #expect(try device.texts == []) }
            try world.send("much later", to: id, by: "alice")
            try world.send("much later", to: secret, by: "alice")
            for device in devices {
                #expect(try device.texts == [])
                #expect(try device.isWelcome)
                device.session.disconnected()
            }
        }
        #expect(world.engine.hub.isEmpty)
    }

    @Test("A member who is added during hello receives messages after the welcome", arguments: 1...2)
    func joinedDuringHello(_ part: Int) throws {
        let world = try World(execution: .thread)
        let doors = Doors(world)
        for round in 0..<25 {
            let id = ConversationID.group(Identifier(known: "g\(part)-\(round)"))
            try world.make(id, members: ["alice"])
            let device = doors.connect()
            DispatchQueue.concurrentPerform(iterations: 2) { worker in
                if worker == 0 { device.hello("bob") } else { _ = try? world.join(id, "bob") }
            }
            try world.send("after", to: id, by: "alice")
            #expect(try device.texts == ["after"])
            device.session.disconnected()
        }
    }

    @Test("A member who is removed during a subscription receives no later message")
    func duringSubscribe() throws {
        let world = try World(execution: .thread)
        let doors = Doors(world)
        let open = ConversationID.community("c", channel: "default")
        try world.make(.community("c"), members: ["alice"])
        for _ in 0..<40 {
            try world.join(.community("c"), "bob")
            let device = doors.device("bob")
            DispatchQueue.concurrentPerform(iterations: 2) { worker in
                if worker == 0 {
                    device.request(Subscribe([open]))
                } else {
                    try? world.leave(.community("c"), "bob")
                    _ = try? world.send("after", to: open, by: "alice") as Seq
                }
            }
            try world.send("later", to: open, by: "alice")
            #expect(try device.texts == [])
            device.session.disconnected()
        }
    }
}
