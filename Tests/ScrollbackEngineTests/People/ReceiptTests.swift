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

    private func peer(_ harness: EngineHarness, _ user: UserID) throws -> Seq {
        try harness.head(direct, user).peerReadSeq
    }

    // MARK: Direct conversations

    @Test("The head of a direct conversation has the peer's read marker, also on a new device")
    func directHead() throws {
        let harness = try EngineHarness()
        for _ in 0..<3 { try harness.send(to: direct, by: "alice") }
        #expect(try peer(harness, "alice") == 0)
        try harness.read(direct, to: 2, by: "bob")
        #expect(try peer(harness, "alice") == 2)
        #expect(try peer(harness, "bob") == 0)
        // Older positions change nothing.
        try harness.read(direct, to: 1, by: "bob")
        #expect(try peer(harness, "alice") == 2)
        #expect(try harness.pass(by: "alice").heads.first?.peerReadSeq == 2)
    }

    @Test("A read reaches the peer even if the reader's own message had already advanced their read marker")
    func readAfterOwnMessageReachesPeer() throws {
        let harness = try EngineHarness()
        try harness.send(harness.submission(countsUnread: false), to: direct, by: "alice")
        try harness.send(to: direct, by: "bob")
        #expect(try harness.head(direct, "bob").readSeq == 2)
        #expect(try peer(harness, "alice") == 0)
        try harness.read(direct, to: 2, by: "bob")
        #expect(try peer(harness, "alice") == 2)
    }

    @Test("A device that was offline gets the peer's read marker in its next sync pass")
    func offlineDeviceGetsReadMarkerBySync() throws {
        let harness = try EngineHarness()
        try harness.send(to: direct, by: "alice")
        let cursor = try harness.pass(by: "alice").cursor
        try harness.read(direct, to: 1, by: "bob")
        let pass = try harness.pass(cursor, by: "alice")
        #expect(pass.heads.map(\.peerReadSeq) == [1])
        // The same read again is not a change.
        try harness.read(direct, to: 1, by: "bob")
        #expect(try harness.pass(pass.cursor, by: "alice").heads.isEmpty)
    }

    @Test("Sending and clearing do not reach the peer as reads, although they advance the user's read marker")
    func sendingAndClearingAreNotReads() throws {
        let harness = try EngineHarness()
        let sessions = SessionHarness(harness)
        let alice = sessions.device("alice")
        try harness.send(to: direct, by: "alice")
        try harness.clear(direct, through: 1, by: "bob")
        try harness.send(to: direct, by: "bob")
        try harness.send(to: direct, by: "bob")
        #expect(try peer(harness, "alice") == 0)
        try harness.send(to: direct, by: "alice")
        try harness.read(direct, to: 4, by: "bob")
        #expect(try peer(harness, "alice") == 4)
        let received = try alice.events.compactMap { event -> Seq? in
            if case .peerRead(.direct("bob"), "bob", let seq) = event { return seq }
            return nil
        }
        #expect(received == [4])
    }

    @Test("Reads during a block do not reach the peer, neither then nor later")
    func blocked() throws {
        let harness = try EngineHarness()
        for _ in 0..<3 { try harness.send(to: direct, by: "alice") }
        try harness.read(direct, to: 1, by: "bob")
        for (blocked, blocker) in [("alice", "bob"), ("bob", "alice")] as [(UserID, UserID)] {
            try harness.block(blocked, by: blocker)
            try harness.read(direct, to: 2, by: "bob")
            // The position from before the block stays visible on every device.
            #expect(try peer(harness, "alice") == 1)
            try harness.block(blocked, isOn: false, by: blocker)
            #expect(try peer(harness, "alice") == 1)
        }
        try harness.read(direct, to: 3, by: "bob")
        #expect(try peer(harness, "alice") == 3)
    }

    @Test("With read receipts switched off, no receipts are stored, sent or returned")
    func off() throws {
        let harness = try EngineHarness()
        let message = harness.submission("hi")
        try harness.send(message, to: direct, by: "alice")
        try harness.send(message, to: .direct(between: "alice", and: "carol"), by: "alice")
        try harness.read(direct, to: 1, by: "bob")
        #expect(try harness.set { $0.people.readReceipts = false }.people.readReceipts == false)
        #expect(try peer(harness, "alice") == 0)
        #expect(refusal { _ = try harness.readers(of: message.id, in: direct, by: "alice") }?.code == .featureOff)
        try harness.read(.direct(between: "alice", and: "carol"), to: 1, by: "carol")
        try harness.set { $0.people.readReceipts = true }
        #expect(try peer(harness, "alice") == 1)
        #expect(try harness.head(.direct(between: "alice", and: "carol"), "alice").peerReadSeq == 0)
    }

    @Test("A recreated conversation has no old receipts, and a conversation with oneself has none")
    func recreatedConversationHasNoOldReceipts() throws {
        let harness = try EngineHarness()
        try harness.send(to: direct, by: "alice")
        try harness.read(direct, to: 1, by: "bob")
        try harness.delete(direct)
        try harness.send(to: direct, by: "alice")
        #expect(try peer(harness, "alice") == 0)
        let notes = ConversationID.direct(between: "alice", and: "alice")
        let message = harness.submission("a note")
        try harness.send(message, to: notes, by: "alice")
        try harness.read(notes, to: 1, by: "alice")
        #expect(try harness.head(notes, "alice").peerReadSeq == 0)
        #expect(try harness.readers(of: message.id, in: notes, by: "alice") == [])
    }

    // MARK: Readers of a message

    @Test("The readers of a message are listed in pages by name, with their read markers and without the sender")
    func readers() throws {
        let harness = try EngineHarness()
        let names: [UserID] = ["alice", "bob", "carol", "dave", "erin"]
        try harness.make(group, members: names)
        let messages = (0..<3).map { harness.submission("\($0)") }
        for message in messages { try harness.send(message, to: group, by: "alice") }
        for (index, name) in names.enumerated() where index > 0 {
            try harness.read(group, to: Seq(index - 1), by: name)
        }
        #expect(try harness.readers(of: messages[0].id, in: group, by: "bob") == ["carol", "dave", "erin"])
        #expect(try harness.readers(of: messages[2].id, in: group, by: "bob") == ["erin"])
        let first = try harness.readers(of: messages[0].id, in: group, limit: 2, by: Caller(user: "alice"))
        #expect(first.elements == [.init(id: "carol", readSeq: 1), .init(id: "dave", readSeq: 2)])
        let cursor = try #require(try first.after())
        let rest = try harness.readers(
            of: messages[0].id, in: group, after: cursor, limit: 2, by: Caller(user: "alice"))
        #expect(rest.elements.map(\.id) == ["erin"] && rest.cursor == nil)
        for limit in [0, 101] {
            let error = refusal {
                _ = try harness.readers(of: messages[0].id, in: group, limit: limit, by: EngineHarness.admin)
            }
            #expect(error?.parameter == "limit")
        }
        #expect(refusal { _ = try harness.readers(of: harness.newID(), in: group, by: "bob") }?.code == .unknownMessage)
        #expect(
            refusal { _ = try harness.readers(of: messages[0].id, in: group, by: "mallory") }?.code
                == .unknownConversation)
    }

    @Test("A page of readers scans a limited number of members, and an empty page can have a cursor")
    func readerPagesAreBounded() throws {
        let harness = try EngineHarness()
        let names = (0..<(Engine.maximumReadersExamined + 100)).map { UserID(known: "u\(10_000 + $0)") }
        try harness.make(group, members: ["alice"] + names)
        let message = harness.submission()
        try harness.send(message, to: group, by: "alice")
        let last = try #require(names.last)
        try harness.read(group, to: 1, by: last)
        let first = try harness.readers(of: message.id, in: group, by: EngineHarness.admin)
        #expect(first.elements.isEmpty)
        let cursor = try #require(try first.after())
        let second = try harness.readers(of: message.id, in: group, after: cursor, by: EngineHarness.admin)
        #expect(second.elements.map(\.id) == [last] && second.cursor == nil)
    }

    @Test("Members who could not see a message are not among its readers")
    func visibility() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob", "carol"])
        let messages = (0..<3).map { harness.submission("\($0)") }
        try harness.send(messages[0], to: group, by: "alice")
        for user in ["bob", "carol"] as [UserID] { try harness.read(group, to: 1, by: user) }
        try harness.leave(group, "carol")
        try harness.leave(group, "bob")
        try harness.send(messages[1], to: group, by: "alice")
        try harness.join(group, "dave")
        try harness.join(group, "bob")
        try harness.send(messages[2], to: group, by: "alice")
        for user in ["bob", "dave"] as [UserID] { try harness.read(group, to: 3, by: user) }
        // Bob saw the message during his first membership.
        #expect(try harness.readers(of: messages[0].id, in: group, by: "alice") == ["bob"])
        #expect(try harness.readers(of: messages[1].id, in: group, by: "alice") == [])
        #expect(try harness.readers(of: messages[2].id, in: group, by: "alice") == ["bob", "dave"])
        try harness.put(group, .init(visibility: .everything))
        #expect(try harness.readers(of: messages[1].id, in: group, by: "alice") == ["bob", "dave"])
    }

    @Test("Readers of a message in a channel have a read marker there and are still community members")
    func community() throws {
        let harness = try EngineHarness()
        let city = ConversationID.community("city")
        let channel = ConversationID.community("city", channel: "general")
        try harness.make(city, members: ["alice", "bob", "carol", "erin"])
        try harness.put(channel)
        let message = harness.submission()
        try harness.send(message, to: channel, by: "alice")
        try harness.join(city, "dave")
        try harness.send(to: channel, by: "alice")
        for user in ["bob", "carol", "dave"] as [UserID] { try harness.read(channel, to: 2, by: user) }
        try harness.leave(city, "carol")
        #expect(try harness.readers(of: message.id, in: channel, by: "alice") == ["bob"])
        try harness.put(channel, .init(visibility: .everything))
        #expect(try harness.readers(of: message.id, in: channel, by: "alice") == ["bob", "dave"])
    }

    @Test("A room has no receipts, and the error names the parameter")
    func room() throws {
        let harness = try EngineHarness()
        try harness.put(.room("lobby"))
        let message = harness.submission()
        try harness.send(message, to: .room("lobby"), by: "alice")
        let error = refusal { _ = try harness.readers(of: message.id, in: .room("lobby"), by: "alice") }
        #expect(error?.code == .invalidParameter && error?.parameter == "conversation")
    }
}
