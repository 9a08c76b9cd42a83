import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Messages that users hide or clear for themselves")
struct OwnViewTests {
    private let group = ConversationID.group("g")
    private let world: World

    init() throws {
        world = try World()
        try world.make(group, members: ["alice", "bob"])
    }

    private func sent(_ count: Int) throws -> [MessageID] {
        try (0..<count).map { number in
            let submission = world.submission("\(number)")
            try world.send(submission, to: group, by: "alice")
            return submission.id
        }
    }

    @Test("Hiding all messages leaves an empty history, and later messages are visible")
    func hideAll() throws {
        let ids = try sent(5)
        #expect(try world.hide(ids, in: group, by: "bob") == 5)
        #expect(try world.hide(ids, in: group, by: "bob") == 0)
        let head = try world.head(group, "bob")
        #expect((head.state.firstSeq, head.state.head) == (6, 5))
        #expect(head.lastMessage == nil)
        #expect(head.unread == 0)
        // The entry stays in the recents list, without a last message.
        let entry = try #require(try world.engine.recents(limit: 10, by: Caller(user: "bob")).heads.first)
        #expect(entry.lastMessage == nil && entry.recentTime != nil)
        _ = try sent(1)
        #expect(try world.page(of: group, by: "bob").seqs == [6])
        #expect(try world.unread(group, "bob") == Counts(1))
        #expect(try world.page(of: group, by: "alice").seqs.count == 6)
    }

    @Test("Clearing only moves up, absorbs hidden messages below, and leaves later messages visible")
    func clear() throws {
        let ids = try sent(6)
        #expect(try world.hide([ids[1], ids[4]], in: group, by: "bob") == 2)
        #expect(try world.clear(group, through: 3, by: "bob").unread == 2)
        let rev = try world.head(group, "bob").userRev
        #expect(try world.clear(group, through: 2, by: "bob").unread == 2)
        #expect(try world.clear(group, through: 0, by: "bob").unread == 2)
        #expect(try world.head(group, "bob").userRev == rev, "a lower position changes nothing")
        #expect(try world.page(of: group, by: "bob").seqs == [6, 4])
        let number = try #require(try world.store.read { try $0.conversation(group)?.number })
        #expect(try world.store.read { try $0.voids(of: "bob", in: number).map(\.places) } == [5...5])
        #expect(try world.clear(group, through: 6, by: "bob").unread == 0)
        #expect(try world.store.read { try $0.member("bob", of: number)?.hasVoids } == false)
        #expect(refusal { try world.clear(group, through: 7, by: "bob") }?.parameter == "seq")
        _ = try sent(1)
        #expect(try world.page(of: group, by: "bob").seqs == [7])
        #expect(try world.unread(group, "bob") == Counts(1))
    }

    @Test("A device that was offline receives the ranges that another device hid, once")
    func hiddenWhileAway() throws {
        let ids = try sent(6)
        let cursor = try world.pass(by: "bob").cursor
        try world.hide([ids[1], ids[2]], in: group, by: "bob")
        let first = try world.pass(cursor, by: "bob")
        #expect(first.heads.map(\.hidden) == [[2...3]])
        try world.hide([ids[5]], in: group, by: "bob")
        let second = try world.pass(first.cursor, by: "bob")
        #expect(second.heads.map(\.hidden) == [[6...6]])
        #expect(try world.pass(second.cursor, by: "bob").heads.isEmpty)
        // A new device has none of these messages.
        #expect(try world.pass(by: "bob").heads.map(\.hidden) == [[]])
    }

    @Test("Administrators who are not members can't hide or clear messages")
    func administrator() throws {
        let ids = try sent(1)
        for refused in [
            refusal {
                let _: Int = try world.done { world.engine.hide(ids, in: group, by: World.admin, completion: $0) }
            },
            refusal {
                let epoch = try world.head(group, "bob").state.epoch
                let _: ReadSummary = try world.done {
                    world.engine.clear(group, through: 1, epoch: epoch, by: World.admin, completion: $0)
                }
            },
        ] { #expect(refused?.code == .notMember) }
    }

    // MARK: Live events

    @Test("Hide and clear events reach only the user's own devices, even in direct conversations")
    func told() throws {
        let doors = Doors(world)
        let message = world.submission("hi")
        try world.send(message, to: .direct("bob"), by: "alice")
        try world.send("ho", to: .direct("bob"), by: "alice")
        let (alice, phone, laptop) = (
            doors.device("alice"), doors.device("bob", "phone"), doors.device("bob", "laptop")
        )
        try world.hide([message.id], in: .direct("alice"), by: "bob")
        try world.clear(.direct("alice"), through: 2, by: "bob")
        #expect(try alice.events.isEmpty)
        for device in [phone, laptop] {
            #expect(
                try device.events.compactMap { event -> [SeqRange]? in
                    if case .hidden(_, _, let places) = event { return places }
                    return nil
                } == [[1...1], [1...2]])
            #expect(
                try device.events.compactMap { event -> Int64? in
                    if case .read(.direct("alice"), let summary) = event { return summary.unread }
                    return nil
                } == [1, 0])
        }
    }

    @Test("A change to a hidden or cleared message reaches the user as a revision only, even after reconnecting")
    func changesOfHidden() throws {
        for id in [group, ConversationID.direct(between: "alice", and: "bob")] {
            let messages = (0..<3).map { world.submission("\($0)") }
            for message in messages { try world.send(message, to: id, by: "alice") }
            let doors = Doors(world)
            let (alice, bob) = (doors.device("alice"), doors.device("bob"))
            try world.hide([messages[1].id], in: id, by: "bob")
            let late = doors.device("bob", "late")
            try world.edit(messages[1].id, in: id, "edited hidden", by: Caller(user: "alice"))
            try world.edit(messages[2].id, in: id, "edited shown", by: Caller(user: "alice"))
            for device in [bob, late] {
                #expect(try device.changes.compactMap(\.text) == ["edited shown"])
                #expect(try device.heads.map(\.rev) == [1])
            }
            #expect(try alice.changes.compactMap(\.text) == ["edited hidden", "edited shown"])
            try world.clear(id, through: 3, by: "bob")
            try world.edit(messages[2].id, in: id, "edited cleared", by: Caller(user: "alice"))
            #expect(try bob.changes.count == 1)
            try world.send("new", to: id, by: "alice")
            #expect(try bob.texts == ["new"])
        }
    }

    @Test("Members get changes to messages they can't see as revisions only, and range deletions in full")
    func changesOfThePast() throws {
        try world.put(group, .init(visibility: .everything))
        let ids = try sent(2)
        let doors = Doors(world)
        let bob = doors.device("bob")
        try world.edit(ids[0], in: group, "open", by: Caller(user: "alice"))
        #expect(try bob.changes.compactMap(\.text) == ["open"])
        try world.put(group, .init(visibility: .sinceJoin))
        try world.join(group, "carol")
        let carol = doors.device("carol")
        try world.edit(ids[0], in: group, "closed", by: Caller(user: "alice"))
        #expect(try carol.changes.isEmpty)
        #expect(try carol.heads.map(\.rev) == [2])
        #expect(try bob.heads.map(\.rev) == [2], "no member is certain to see the message")
        let new = try sent(1)
        try world.react("+1", to: new[0], in: group, by: Caller(user: "bob"))
        for device in [bob, carol] { #expect(try device.changes.last?.rev == 3) }
        try world.delete(DeleteRange(from: .seq(2), to: .seq(3)), of: group)
        for device in [bob, carol] { #expect(try device.changes.last == .removed(2...2, rev: 4)) }
        try world.leave(group, "carol")
        carol.outlet.forget()
        try world.delete(new[0], in: group, by: Caller(user: "alice"))
        #expect(try carol.events.isEmpty)
    }

    @Test("A reply updates the first message of its thread for the members who see that message")
    func repliesLive() throws {
        let ids = try sent(1)
        try world.join(group, "carol")
        let doors = Doors(world)
        let (bob, carol) = (doors.device("bob"), doors.device("carol"))
        var reply = world.submission("reply")
        reply.attributes.replyTo = ids[0]
        try world.send(reply, to: group, by: "bob")
        for device in [bob, carol] { #expect(try device.texts == ["reply"]) }
        #expect(try bob.changes.compactMap(\.text) == ["0"])
        #expect(try carol.changes.isEmpty)
        #expect(try carol.heads.map(\.rev) == [1])
    }
}
