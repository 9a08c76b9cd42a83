import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Read receipts")
struct ReceiptTests {
    private let group = ConversationID.group("g")
    private let direct = ConversationID.direct(between: "alice", and: "bob")

    private func peer(_ world: World, _ user: UserID) throws -> Seq { try world.head(direct, user).peerReadSeq }

    // MARK: Direct conversations

    @Test("The head of a direct conversation has the peer's read marker, also on a new device")
    func directHead() throws {
        let world = try World()
        for _ in 0..<3 { try world.send(to: direct, by: "alice") }
        #expect(try peer(world, "alice") == 0)
        try world.read(direct, to: 2, by: "bob")
        #expect(try peer(world, "alice") == 2)
        #expect(try peer(world, "bob") == 0)
        // Older positions change nothing.
        try world.read(direct, to: 1, by: "bob")
        #expect(try peer(world, "alice") == 2)
        #expect(try world.pass(by: "alice").heads.first?.peerReadSeq == 2)
    }

    @Test("A read reaches the peer even if the reader's own message had already advanced their read marker")
    func readAfterOwn() throws {
        let world = try World()
        try world.send(world.submission(countsUnread: false), to: direct, by: "alice")
        try world.send(to: direct, by: "bob")
        #expect(try world.head(direct, "bob").readSeq == 2)
        #expect(try peer(world, "alice") == 0)
        try world.read(direct, to: 2, by: "bob")
        #expect(try peer(world, "alice") == 2)
    }

    @Test("A device that was offline gets the peer's read marker in its next sync pass")
    func away() throws {
        let world = try World()
        try world.send(to: direct, by: "alice")
        let cursor = try world.pass(by: "alice").cursor
        try world.read(direct, to: 1, by: "bob")
        let pass = try world.pass(cursor, by: "alice")
        #expect(pass.heads.map(\.peerReadSeq) == [1])
        // The same read again is not a change.
        try world.read(direct, to: 1, by: "bob")
        #expect(try world.pass(pass.cursor, by: "alice").heads.isEmpty)
    }

    @Test("Sending and clearing do not reach the peer as reads, although they advance the user's read marker")
    func notRead() throws {
        let world = try World()
        let doors = Doors(world)
        let alice = doors.device("alice")
        try world.send(to: direct, by: "alice")
        try world.clear(direct, through: 1, by: "bob")
        try world.send(to: direct, by: "bob")
        try world.send(to: direct, by: "bob")
        #expect(try peer(world, "alice") == 0)
        try world.send(to: direct, by: "alice")
        try world.read(direct, to: 4, by: "bob")
        #expect(try peer(world, "alice") == 4)
        let told = try alice.events.compactMap { event -> Seq? in
            if case .peerRead(.direct("bob"), "bob", let seq) = event { return seq }
            return nil
        }
        #expect(told == [4])
    }

    @Test("Reads during a block do not reach the peer, neither then nor later")
    func blocked() throws {
        let world = try World()
        for _ in 0..<3 { try world.send(to: direct, by: "alice") }
        try world.read(direct, to: 1, by: "bob")
        for (blocked, blocker) in [("alice", "bob"), ("bob", "alice")] as [(UserID, UserID)] {
            try world.block(blocked, by: blocker)
            try world.read(direct, to: 2, by: "bob")
            // The position from before the block stays visible on every device.
            #expect(try peer(world, "alice") == 1)
            try world.block(blocked, isOn: false, by: blocker)
            #expect(try peer(world, "alice") == 1)
        }
        try world.read(direct, to: 3, by: "bob")
        #expect(try peer(world, "alice") == 3)
    }

    @Test("With read receipts switched off, no receipts are stored, sent or returned")
    func off() throws {
        let world = try World()
        let message = world.submission("hi")
        try world.send(message, to: direct, by: "alice")
        try world.send(message, to: .direct(between: "alice", and: "carol"), by: "alice")
        try world.read(direct, to: 1, by: "bob")
        #expect(try world.set { $0.people.readReceipts = false }.people.readReceipts == false)
        #expect(try peer(world, "alice") == 0)
        #expect(refusal { _ = try world.readers(of: message.id, in: direct, by: "alice") }?.code == .featureOff)
        try world.read(.direct(between: "alice", and: "carol"), to: 1, by: "carol")
        try world.set { $0.people.readReceipts = true }
        #expect(try peer(world, "alice") == 1)
        #expect(try world.head(.direct(between: "alice", and: "carol"), "alice").peerReadSeq == 0)
    }

    @Test("A recreated conversation has no old receipts, and a conversation with oneself has none")
    func anew() throws {
        let world = try World()
        try world.send(to: direct, by: "alice")
        try world.read(direct, to: 1, by: "bob")
        try world.delete(direct)
        try world.send(to: direct, by: "alice")
        #expect(try peer(world, "alice") == 0)
        let notes = ConversationID.direct(between: "alice", and: "alice")
        let message = world.submission("a note")
        try world.send(message, to: notes, by: "alice")
        try world.read(notes, to: 1, by: "alice")
        #expect(try world.head(notes, "alice").peerReadSeq == 0)
        #expect(try world.readers(of: message.id, in: notes, by: "alice") == [])
    }

    // MARK: Readers of a message

    @Test("The readers of a message are listed in pages by name, with their read markers and without the sender")
    func readers() throws {
        let world = try World()
        let names: [UserID] = ["alice", "bob", "carol", "dave", "erin"]
        try world.make(group, members: names)
        let messages = (0..<3).map { world.submission("\($0)") }
        for message in messages { try world.send(message, to: group, by: "alice") }
        for (index, name) in names.enumerated() where index > 0 { try world.read(group, to: Seq(index - 1), by: name) }
        #expect(try world.readers(of: messages[0].id, in: group, by: "bob") == ["carol", "dave", "erin"])
        #expect(try world.readers(of: messages[2].id, in: group, by: "bob") == ["erin"])
        let first = try world.readers(of: messages[0].id, in: group, limit: 2, by: Caller(user: "alice"))
        #expect(first.elements == [.init(id: "carol", readSeq: 1), .init(id: "dave", readSeq: 2)])
        let cursor = try #require(try first.after())
        let rest = try world.readers(of: messages[0].id, in: group, after: cursor, limit: 2, by: Caller(user: "alice"))
        #expect(rest.elements.map(\.id) == ["erin"] && rest.cursor == nil)
        for limit in [0, 101] {
            let error = refusal { _ = try world.readers(of: messages[0].id, in: group, limit: limit, by: World.admin) }
            #expect(error?.parameter == "limit")
        }
        #expect(refusal { _ = try world.readers(of: world.newID(), in: group, by: "bob") }?.code == .unknownMessage)
        #expect(
            refusal { _ = try world.readers(of: messages[0].id, in: group, by: "mallory") }?.code
                == .unknownConversation)
    }

    @Test("A page of readers scans a limited number of members, and an empty page can have a cursor")
    func bounded() throws {
        let world = try World()
        let names = (0..<(Engine.rowsOfReaders + 100)).map { UserID(known: "u\(10_000 + $0)") }
        try world.make(group, members: ["alice"] + names)
        let message = world.submission()
        try world.send(message, to: group, by: "alice")
        let last = try #require(names.last)
        try world.read(group, to: 1, by: last)
        let first = try world.readers(of: message.id, in: group, by: World.admin)
        #expect(first.elements.isEmpty)
        let cursor = try #require(try first.after())
        let second = try world.readers(of: message.id, in: group, after: cursor, by: World.admin)
        #expect(second.elements.map(\.id) == [last] && second.cursor == nil)
    }

    @Test("Members who could not see a message are not among its readers")
    func visibility() throws {
        let world = try World()
        try world.make(group, members: ["alice", "bob", "carol"])
        let messages = (0..<3).map { world.submission("\($0)") }
        try world.send(messages[0], to: group, by: "alice")
        for user in ["bob", "carol"] as [UserID] { try world.read(group, to: 1, by: user) }
        try world.leave(group, "carol")
        try world.leave(group, "bob")
        try world.send(messages[1], to: group, by: "alice")
        try world.join(group, "dave")
        try world.join(group, "bob")
        try world.send(messages[2], to: group, by: "alice")
        for user in ["bob", "dave"] as [UserID] { try world.read(group, to: 3, by: user) }
        // Bob saw the message during his first membership.
        #expect(try world.readers(of: messages[0].id, in: group, by: "alice") == ["bob"])
        #expect(try world.readers(of: messages[1].id, in: group, by: "alice") == [])
        #expect(try world.readers(of: messages[2].id, in: group, by: "alice") == ["bob", "dave"])
        try world.put(group, .init(visibility: .everything))
        #expect(try world.readers(of: messages[1].id, in: group, by: "alice") == ["bob", "dave"])
    }

    @Test("Readers of a message in a channel have a read marker there and are still community members")
    func community() throws {
        let world = try World()
        let city = ConversationID.community("city")
        let channel = ConversationID.community("city", channel: "general")
        try world.make(city, members: ["alice", "bob", "carol", "erin"])
        try world.put(channel)
        let message = world.submission()
        try world.send(message, to: channel, by: "alice")
        try world.join(city, "dave")
        try world.send(to: channel, by: "alice")
        for user in ["bob", "carol", "dave"] as [UserID] { try world.read(channel, to: 2, by: user) }
        try world.leave(city, "carol")
        #expect(try world.readers(of: message.id, in: channel, by: "alice") == ["bob"])
        try world.put(channel, .init(visibility: .everything))
        #expect(try world.readers(of: message.id, in: channel, by: "alice") == ["bob", "dave"])
    }

    @Test("A room has no receipts, and the error names the parameter")
    func room() throws {
        let world = try World()
        try world.put(.room("lobby"))
        let message = world.submission()
        try world.send(message, to: .room("lobby"), by: "alice")
        let error = refusal { _ = try world.readers(of: message.id, in: .room("lobby"), by: "alice") }
        #expect(error?.code == .invalidParameter && error?.parameter == "conversation")
    }
}
