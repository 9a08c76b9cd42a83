import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Delivery receipts")
struct DeliveryReceiptTests {
    private let group = ConversationID.group("g")
    private let direct = ConversationID.direct(between: "alice", and: "bob")

    private func peer(_ harness: EngineHarness, _ user: UserID) throws -> Seq {
        try harness.head(direct, user).peerDeliveredSeq
    }

    private func received(_ device: Device) throws -> [String] {
        try device.events.compactMap { event in
            if case .delivered(let id, let user, let seq) = event { return "\(id) \(user) \(seq)" }
            return nil
        }
    }

    // MARK: Direct conversations

    @Test("The head of a direct conversation has the place through which the peer's devices stored it")
    func directHead() throws {
        let harness = try EngineHarness()
        for _ in 0..<3 { try harness.send(to: direct, by: "alice") }
        #expect(try harness.head(direct, "bob").hasDeliveryReceipts)
        let cursor = try harness.pass(by: "alice").cursor
        #expect(try harness.delivered(direct, through: 2, by: "bob") == nil)
        #expect(try peer(harness, "alice") == 2)
        #expect(try peer(harness, "bob") == 0)
        #expect(try harness.head(direct, "alice").peerReadSeq == 0)
        // Devices that were offline get it by sync.
        #expect(try harness.pass(cursor, by: "alice").heads.map(\.peerDeliveredSeq) == [2])
    }

    @Test("A place never moves down, and a repeated report writes nothing and is no change")
    func monotonic() throws {
        let harness = try EngineHarness()
        let sessions = SessionHarness(harness)
        let alice = sessions.device("alice")
        for _ in 0..<3 { try harness.send(to: direct, by: "alice") }
        try harness.delivered(direct, through: 2, by: "bob")
        let cursor = try harness.pass(by: "alice").cursor
        for seq: Seq in [2, 1, 0] { #expect(try harness.delivered(direct, through: seq, by: "bob") == nil) }
        #expect(try peer(harness, "alice") == 2)
        #expect(try harness.pass(cursor, by: "alice").heads.isEmpty)
        #expect(try received(alice) == ["direct:bob bob 2"])
    }

    @Test("A place above the head or in another epoch is refused, and the other reports of the request count")
    func bounds() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob"])
        for id in [direct, group] { try harness.send(to: id, by: "alice") }
        var marks = try [(direct, 2), (direct, -1), (group, 1)].map { try harness.mark($0, through: $1, by: "bob") }
        var old = try harness.mark(direct, through: 1, by: "bob")
        old.position.epoch = Epoch(rawValue: old.position.epoch.rawValue ^ 1)
        marks.append(old)
        marks.append(DeliveryMark(conversation: .group("none"), position: old.position))
        let results = try harness.report(marks, by: "bob")
        #expect(results.map(\.conversation) == marks.map(\.conversation))
        #expect(
            results.map { $0.error?.code }
                == [.invalidParameter, .invalidParameter, nil, .epochChanged, .unknownConversation])
        #expect(try peer(harness, "alice") == 0)
    }

    @Test("A message that the peer has read was delivered, and a later report of it changes nothing")
    func readImpliesDelivered() throws {
        let harness = try EngineHarness()
        let sessions = SessionHarness(harness)
        let alice = sessions.device("alice")
        let messages = (0..<3).map { harness.submission("\($0)") }
        for message in messages { try harness.send(message, to: direct, by: "alice") }
        try harness.read(direct, to: 2, by: "bob")
        #expect(try peer(harness, "alice") == 2)
        #expect(try harness.recipients(of: messages[1].id, in: direct, by: "alice") == ["bob"])
        try harness.delivered(direct, through: 2, by: "bob")
        #expect(try received(alice).isEmpty)
        try harness.delivered(direct, through: 3, by: "bob")
        #expect(try peer(harness, "alice") == 3)
        #expect(try harness.head(direct, "alice").peerReadSeq == 2)
        #expect(try received(alice) == ["direct:bob bob 3"])
    }

    @Test("An own message, which advances the read marker, does not count as a delivery of earlier messages")
    func ownMessageIsNoDelivery() throws {
        let harness = try EngineHarness()
        try harness.send(to: direct, by: "alice")
        try harness.send(to: direct, by: "bob")
        #expect(try peer(harness, "alice") == 0)
        try harness.delivered(direct, through: 1, by: "bob")
        #expect(try peer(harness, "alice") == 1)
    }

    @Test("Deliveries during a block do not reach the peer")
    func blocked() throws {
        let harness = try EngineHarness()
        for _ in 0..<3 { try harness.send(to: direct, by: "alice") }
        try harness.delivered(direct, through: 1, by: "bob")
        for (blocked, blocker) in [("alice", "bob"), ("bob", "alice")] as [(UserID, UserID)] {
            try harness.block(blocked, by: blocker)
            // The answer does not reveal the block.
            #expect(try harness.delivered(direct, through: 2, by: "bob") == nil)
            #expect(try peer(harness, "alice") == 1)
            try harness.block(blocked, isOn: false, by: blocker)
            #expect(try peer(harness, "alice") == 1)
        }
        try harness.delivered(direct, through: 3, by: "bob")
        #expect(try peer(harness, "alice") == 3)
    }

    @Test("With read receipts switched off, there are no delivery receipts")
    func off() throws {
        let harness = try EngineHarness()
        let message = harness.submission("hi")
        try harness.send(message, to: direct, by: "alice")
        try harness.delivered(direct, through: 1, by: "bob")
        try harness.set { $0.people.readReceipts = false }
        #expect(try !harness.head(direct, "bob").hasDeliveryReceipts)
        #expect(try peer(harness, "alice") == 0)
        #expect(refusal { _ = try harness.recipients(of: message.id, in: direct, by: "alice") }?.code == .featureOff)
        #expect(refusal { try harness.delivered(direct, through: 1, by: "bob") }?.code == .featureOff)
    }

    @Test("Reports count nothing as unread or read, and leave the list of recents as it is")
    func countsAndRecentsStay() throws {
        let harness = try EngineHarness()
        try harness.send(to: direct, by: "alice")
        let before = try harness.head(direct, "bob")
        try harness.delivered(direct, through: 1, by: "bob")
        let after = try harness.head(direct, "bob")
        #expect(after.unread == 1 && after.readSeq == before.readSeq)
        #expect(after.recentTime == before.recentTime && after.head == 1 && after.userRev == before.userRev)
    }

    @Test("A recreated conversation has no old deliveries, and a conversation with oneself has no receipts")
    func otherConversations() throws {
        let harness = try EngineHarness()
        try harness.send(to: direct, by: "alice")
        try harness.delivered(direct, through: 1, by: "bob")
        try harness.delete(direct)
        try harness.send(to: direct, by: "alice")
        #expect(try peer(harness, "alice") == 0)
        let notes = ConversationID.direct(between: "alice", and: "alice")
        try harness.send(to: notes, by: "alice")
        #expect(try !harness.head(notes, "alice").hasDeliveryReceipts)
        #expect(try harness.delivered(notes, through: 1, by: "alice") == .featureOff)
    }

    // MARK: Groups

    @Test("The recipients of a group message are listed by name, without the sender and with those who read it")
    func recipients() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob", "carol", "dave"])
        let messages = (0..<2).map { harness.submission("\($0)") }
        for message in messages { try harness.send(message, to: group, by: "alice") }
        try harness.delivered(group, through: 1, by: "dave")
        try harness.delivered(group, through: 2, by: "carol")
        #expect(try harness.recipients(of: messages[0].id, in: group, by: "alice") == ["carol", "dave"])
        #expect(try harness.recipients(of: messages[1].id, in: group, by: "bob") == ["carol"])
        try harness.read(group, to: 2, by: "bob")
        #expect(try harness.recipients(of: messages[1].id, in: group, by: "alice") == ["bob", "carol"])
        let page = try harness.engine.recipients(
            of: messages[0].id, in: group, after: nil, limit: 2, by: Caller(user: "alice"))
        #expect(page.elements == [.init(id: "bob", deliveredSeq: 2), .init(id: "carol", deliveredSeq: 2)])
        let rest = try harness.engine.recipients(
            of: messages[0].id, in: group, after: try page.after(), limit: 2, by: Caller(user: "alice"))
        #expect(rest.elements == [.init(id: "dave", deliveredSeq: 1)] && rest.cursor == nil)
        let unknown = refusal { _ = try harness.recipients(of: harness.newID(), in: group, by: "bob") }
        #expect(unknown?.code == .unknownMessage)
    }

    @Test("Connected members of a group get an event of another member's report, and the reporter gets none")
    func events() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob", "carol"])
        let sessions = SessionHarness(harness)
        let (alice, bob, carol) = (sessions.device("alice"), sessions.device("bob"), sessions.device("carol"))
        try harness.send(to: group, by: "alice")
        try harness.delivered(group, through: 1, by: "bob")
        #expect(try received(alice) == ["group:g bob 1"])
        #expect(try received(carol) == ["group:g bob 1"])
        #expect(try received(bob).isEmpty)
    }

    @Test("Events of deliveries are sent only if all who can read a group may list its members")
    func eventsNeedThePermission() throws {
        for (action, requirement) in [(.listMembers, .moderator), (.read, .anyone)] as [(Permission, Requirement)] {
            var permissions = Permissions.standard
            permissions[action, .group] = requirement
            let harness = try EngineHarness(permissions: permissions)
            try harness.make(group, members: ["alice", "bob"])
            let sessions = SessionHarness(harness)
            let (alice, stranger) = (sessions.device("alice"), sessions.device("stranger"))
            stranger.request(Subscribe([group]))
            let message = harness.submission()
            try harness.send(message, to: group, by: "alice")
            #expect(try harness.delivered(group, through: 1, by: "bob") == nil)
            #expect(try received(alice).isEmpty && received(stranger).isEmpty, "\(action)")
            // The place is recorded for those who may list the recipients.
            let page = try harness.engine.recipients(
                of: message.id, in: group, after: nil, limit: 9, by: EngineHarness.admin)
            #expect(page.elements.map(\.id) == ["bob"])
            let refused = refusal { _ = try harness.recipients(of: message.id, in: group, by: "stranger") }
            #expect(refused != nil)
        }
    }

    @Test("A group with more than 20 members has no delivery receipts until it is small again")
    func largeGroup() throws {
        let harness = try EngineHarness()
        let names = (0..<ReceiptRow.maximumMembers).map { UserID(known: "u\(100 + $0)") }
        try harness.make(group, members: names)
        let message = harness.submission()
        try harness.send(message, to: group, by: names[0])
        #expect(try harness.head(group, names[1]).hasDeliveryReceipts)
        try harness.delivered(group, through: 1, by: names[1])
        try harness.join(group, "zoe")
        #expect(try !harness.head(group, names[1]).hasDeliveryReceipts)
        #expect(try harness.delivered(group, through: 1, by: names[2]) == .featureOff)
        let error = refusal { _ = try harness.recipients(of: message.id, in: group, by: names[0]) }
        #expect(error?.code == .featureOff && error?.limit == ReceiptRow.maximumMembers)
        try harness.leave(group, "zoe")
        #expect(try harness.recipients(of: message.id, in: group, by: names[0]) == [names[1]])
    }

    @Test("Former members report nothing and are no recipients, and members who could not see a message aren't either")
    func formerMembers() throws {
        let harness = try EngineHarness()
        try harness.make(group, members: ["alice", "bob", "carol"])
        let message = harness.submission()
        try harness.send(message, to: group, by: "alice")
        for user in ["bob", "carol"] as [UserID] { try harness.delivered(group, through: 1, by: user) }
        try harness.leave(group, "carol")
        #expect(try harness.delivered(group, through: 1, by: "carol") == .notMember)
        #expect(try !harness.head(group, "carol").hasDeliveryReceipts)
        try harness.join(group, "dave")
        try harness.send(to: group, by: "alice")
        try harness.delivered(group, through: 2, by: "dave")
        #expect(try harness.recipients(of: message.id, in: group, by: "alice") == ["bob"])
        #expect(refusal { _ = try harness.recipients(of: message.id, in: group, by: "carol") }?.code == .forbidden)
    }

    @Test("Communities, rooms and system messages have no delivery receipts")
    func otherKinds() throws {
        let harness = try EngineHarness()
        let channel = ConversationID.community("city", channel: "general")
        try harness.make(.community("city"), members: ["alice", "bob"])
        try harness.put(channel)
        let message = harness.submission()
        try harness.send(message, to: channel, by: "alice")
        #expect(try !harness.head(channel, "bob").hasDeliveryReceipts)
        let error = refusal { _ = try harness.recipients(of: message.id, in: channel, by: "alice") }
        #expect(error?.code == .featureOff)
        try harness.put(.room("lobby"))
        let line = harness.submission()
        try harness.send(line, to: .room("lobby"), by: "alice")
        #expect(refusal { _ = try harness.recipients(of: line.id, in: .room("lobby"), by: "alice") } != nil)
    }
}
