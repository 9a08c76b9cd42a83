import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization
import Testing

@Suite("Rooms")
struct RoomTests {
    private let room = ConversationID.room("lobby")

    private func harness(_ settings: ConversationSettings = .init()) throws -> EngineHarness {
        let harness = try EngineHarness()
        try harness.put(room, settings)
        return harness
    }

    private func send(
        _ count: Int, _ priority: MessagePriority, _ harness: EngineHarness, by user: UserID = "alice"
    ) throws {
        for number in 0..<count {
            var submission = harness.submission("\(priority) \(number)")
            submission.attributes.priority = priority
            // The priority `high` requires a moderator, and a room has no member list.
            let result = try harness.send(submission, to: room, by: Caller(user: user, isAdmin: priority == .high))
            #expect(result.outcome == .committed)
        }
    }

    @Test("Subscribing to a room writes no row and delivers its head and later messages, and pages have its history")
    func subscribing() throws {
        let harness = try harness()
        try harness.send("before", to: room, by: "alice")
        let sessions = SessionHarness(harness)
        let bob = sessions.device("bob")
        try harness.send("unheard", to: room, by: "alice")
        bob.request(Subscribe([room]))
        try harness.send("heard", to: room, by: "alice")
        bob.request(Unsubscribe([room]))
        try harness.send("after", to: room, by: "alice")
        #expect(try bob.texts == ["heard"])
        #expect(try harness.store.read { try $0.memberships(of: "bob") } == [])
        #expect(try harness.page(of: room, by: "bob").messages.count == 4)
        #expect(try harness.pass(by: "bob").heads.isEmpty)
    }

    @Test("A full room refuses subscriptions until a user leaves, and a repeated subscription succeeds")
    func capacity() throws {
        let harness = try harness(.init(capacity: .set(2)))
        let sessions = SessionHarness(harness)
        let devices = ["a", "b", "c"].map { sessions.device($0) }
        for device in devices.dropLast() { #expect(try device.error(device.request(Subscribe([room]))) == nil) }
        #expect(try devices[0].error(devices[0].request(Subscribe([room]))) == nil)
        let error = try devices[2].error(devices[2].request(Subscribe([room])))
        #expect(error?.code == .roomFull && error?.isTemporary == true && error?.limit == 2)
        // A request for several conversations fails as a whole.
        try harness.put(.room("other"))
        devices[2].request(Subscribe([.room("other"), room]))
        try harness.send("x", to: .room("other"), by: "a")
        #expect(try devices[2].texts == [])
        devices[1].session.disconnected()
        #expect(try devices[2].error(devices[2].request(Subscribe([room]))) == nil)
        // A sender needs no subscription.
        try harness.send("said", to: room, by: "d")
        #expect(try devices[2].texts == ["said"])
        try harness.put(room, .init(capacity: .remove))
        let late = sessions.device("late")
        #expect(try late.error(late.request(Subscribe([room]))) == nil)
    }

    @Test("The error of a subscription to several conversations names the one that is refused")
    func refusedConversation() throws {
        let harness = try harness(.init(capacity: .set(1)))
        let sessions = SessionHarness(harness)
        let (bob, carol) = (sessions.device("bob"), sessions.device("carol"))
        try harness.put(.room("other"))
        bob.request(Subscribe([room]))
        for id in [room, .group("none"), .community("none"), .community("none", channel: "general"), .direct("dave")] {
            let error = try carol.error(carol.request(Subscribe([.room("other"), id])))
            #expect(error?.message.contains(" \(id) ") == true || error?.message.hasPrefix("\(id) ") == true)
            #expect(error?.code == (id == room ? .roomFull : .unknownConversation))
        }
    }

    @Test("Only rooms have a capacity, which must be in range")
    func capacityIsChecked() throws {
        let harness = try harness()
        #expect(refusal { try harness.put(room, .init(capacity: .set(0))) }?.parameter == "capacity")
        #expect(refusal { try harness.put(.group("g"), .init(capacity: .set(5))) }?.parameter == "capacity")
    }

    @Test("Above a room's rate, low messages are dropped before normal ones, high ones never, and all are stored")
    func lowPriorityMessagesAreDroppedFirst() throws {
        let harness = try harness()
        try harness.set { $0.moderation.roomMessagesPerSecond = 10 }
        let bob = SessionHarness(harness).device("bob")
        bob.request(Subscribe([room]))
        try send(20, .low, harness)
        #expect(try bob.messages.count == 6)
        try send(20, .normal, harness)
        #expect(try bob.messages.count == 10)
        try send(20, .high, harness)
        #expect(try bob.messages.count == 30)
        #expect(try harness.page(of: room, by: "bob").messages.count == 60)
        harness.clock.advance(by: 1)
        try send(1, .low, harness)
        #expect(try bob.messages.count == 31)
        #expect(try bob.messages.last?.attributes.priority == .low)
    }

    @Test("Subscribers of a room whose newest messages were dropped get its head once")
    func heads() throws {
        let harness = try harness()
        try harness.set { $0.moderation.roomMessagesPerSecond = 1 }
        let bob = SessionHarness(harness).device("bob")
        bob.request(Subscribe([room]))
        try send(50, .low, harness)
        harness.engine.hub.announceChannelHeads()
        harness.engine.hub.announceChannelHeads()
        let heads = try bob.events.compactMap { event -> Seq? in
            if case .head(room, let update) = event { update.seq } else { nil }
        }
        #expect(heads == [50])
        try send(1, .high, harness)
        harness.engine.hub.announceChannelHeads()
        #expect(try bob.messages.last?.seq == 51)
        #expect(try bob.events.count == 3)
    }

    @Test("A group delivers every message, regardless of its priority")
    func groups() throws {
        let harness = try harness()
        try harness.set { $0.moderation.roomMessagesPerSecond = 1 }
        try harness.make(.group("g"), members: ["alice", "bob"])
        let bob = SessionHarness(harness).device("bob")
        for _ in 0..<20 {
            var submission = harness.submission()
            submission.attributes.priority = .low
            try harness.send(submission, to: .group("g"), by: "alice")
        }
        #expect(try bob.messages.count == 20)
    }

    @Test("The sender's other devices get each message in every kind of conversation, even if it is not stored")
    func otherDevices() throws {
        let harness = try harness()
        try harness.set { $0.moderation.roomMessagesPerSecond = 1 }
        try harness.make(.group("g"), members: ["alice", "bob"])
        try harness.make(.community("city"), members: ["alice", "bob"])
        let sessions = SessionHarness(harness)
        let (phone, laptop) = (sessions.device("alice", "phone"), sessions.device("alice", "laptop"))
        for device in [phone, laptop] { device.request(Subscribe([room])) }
        let ids: [ConversationID] = [.group("g"), .direct("bob"), .community("city", channel: "default"), room, room]
        let command = try MessageContent.command("play")
        for id in ids {
            phone.request(SendMessage(conversation: id, submission: harness.submission("to \(id)")))
            phone.request(SendMessage(conversation: id, submission: Submission(id: harness.newID(), content: command)))
        }
        #expect(try laptop.texts == ids.map { "to \($0)" })
        #expect(try phone.messages.isEmpty)
        func transients(_ device: Device) throws -> [ConversationID] {
            try device.events.compactMap { if case .transient(let message) = $0 { message.conversation } else { nil } }
        }
        // Only subscribers of a channel get its transient messages.
        #expect(try transients(laptop) == ids.filter { $0.kind != .community })
        #expect(try transients(phone) == [])
    }

    @Test("The priority `high` requires a moderator in rooms, and the error names the parameter")
    func high() throws {
        let harness = try harness()
        for content in [MessageContent.text("hi"), try .command("play")] {
            var submission = Submission(id: harness.newID(), content: content)
            submission.attributes.priority = .high
            let error = refusal { try harness.send(submission, to: room, by: "alice") }
            #expect(error?.code == .forbidden && error?.parameter == "priority")
            submission.id = harness.newID()
            #expect(try harness.send(submission, to: room, by: EngineHarness.admin).outcome != .duplicate)
        }
        try harness.make(.group("g"), members: ["alice"])
        var submission = harness.submission()
        submission.attributes.priority = .high
        try harness.send(submission, to: .group("g"), by: "alice")
    }

    @Test("Messages that are not stored count toward a room's rate, and dropped ones are not announced")
    func transients() throws {
        let harness = try harness()
        try harness.set { $0.moderation.roomMessagesPerSecond = 5 }
        let sessions = SessionHarness(harness)
        let (phone, laptop) = (sessions.device("alice", "phone"), sessions.device("alice", "laptop"))
        let bob = sessions.device("bob")
        for device in [bob, phone, laptop] { device.request(Subscribe([room])) }
        let command = try MessageContent.command("play")
        for _ in 0..<20 {
            phone.request(
                SendMessage(conversation: room, submission: Submission(id: harness.newID(), content: command)))
        }
        harness.engine.hub.announceChannelHeads()
        #expect(try bob.events.count == 5)
        #expect(try laptop.events.count == 20 && phone.events.isEmpty)
        #expect(harness.engine.hub.skippedMessageCount == 15)
    }

    @Test("Changes count toward a room's rate, and subscribers get one head for all dropped changes")
    func changes() throws {
        let harness = try harness()
        try harness.set { $0.moderation.roomMessagesPerSecond = 5 }
        let message = harness.submission("mine")
        try harness.send(message, to: room, by: "alice")
        harness.clock.advance(by: 60)
        let bob = SessionHarness(harness).device("bob")
        bob.request(Subscribe([room]))
        for number in 0..<20 { try harness.react("\(number)", to: message.id, in: room, by: Caller(user: "alice")) }
        #expect(try bob.events.count == 5)
        harness.clock.advance(by: 60)
        try harness.send("streamed", to: room, by: "alice")
        harness.engine.hub.announceChannelHeads()
        harness.engine.hub.announceChannelHeads()
        let heads = try bob.events.compactMap { event -> [Int64]? in
            if case .head(room, let update) = event { [update.seq, update.rev] } else { nil }
        }
        #expect(heads == [[2, 20]])
    }

    @Test("Dropping a message does not access every connection in the room")
    func droppingAccessesNoConnections() throws {
        final class CountingConnection: Connection {
            let looks = Mutex(0)
            let lane: any ConnectionLane
            init(_ lane: any ConnectionLane) { self.lane = lane }
            var user: UserID {
                looks.withLock { $0 += 1 }
                return "fan"
            }
            func isSubscribed(to id: ConversationID) -> Bool { true }
            func joined(_ id: ConversationID, fullyVisibleAfter seq: Seq) {}
            func left(_ id: ConversationID) {}
            func close(_ reason: CloseReason) {}
        }
        let harness = try harness()
        try harness.set { $0.moderation.roomMessagesPerSecond = 1 }
        let connection = CountingConnection(DirectLane())
        harness.engine.hub.subscribe(connection, to: room, fullyVisibleAfter: 0)
        try send(20, .low, harness)
        #expect(harness.engine.hub.skippedMessageCount == 19)
        #expect(connection.looks.withLock { $0 } == 0)
    }
}
