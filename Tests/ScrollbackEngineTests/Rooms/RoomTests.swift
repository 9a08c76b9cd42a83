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

    private func world(_ settings: ConversationSettings = .init()) throws -> World {
        let world = try World()
        try world.put(room, settings)
        return world
    }

    private func send(
        _ count: Int, _ priority: MessagePriority, _ world: World, by user: UserID = "alice"
    ) throws {
        for number in 0..<count {
            var submission = world.submission("\(priority) \(number)")
            submission.attributes.priority = priority
            // The priority `high` requires a moderator, and a room has no member list.
            let result = try world.send(submission, to: room, by: Caller(user: user, isAdmin: priority == .high))
            #expect(result.outcome == .committed)
        }
    }

    @Test("Subscribing to a room writes no row and delivers its head and later messages, and pages have its history")
    func subscribing() throws {
        let world = try world()
        try world.send("before", to: room, by: "alice")
        let doors = Doors(world)
        let bob = doors.device("bob")
        try world.send("unheard", to: room, by: "alice")
        bob.request(Subscribe([room]))
        try world.send("heard", to: room, by: "alice")
        bob.request(Unsubscribe([room]))
        try world.send("after", to: room, by: "alice")
        #expect(try bob.texts == ["heard"])
        #expect(try world.store.read { try $0.memberships(of: "bob") } == [])
        #expect(try world.page(of: room, by: "bob").messages.count == 4)
        #expect(try world.pass(by: "bob").heads.isEmpty)
    }

    @Test("A full room refuses subscriptions until a user leaves, and a repeated subscription succeeds")
    func capacity() throws {
        let world = try world(.init(capacity: .some(2)))
        let doors = Doors(world)
        let devices = ["a", "b", "c"].map { doors.device($0) }
        for device in devices.dropLast() { #expect(try device.error(device.request(Subscribe([room]))) == nil) }
        #expect(try devices[0].error(devices[0].request(Subscribe([room]))) == nil)
        let error = try devices[2].error(devices[2].request(Subscribe([room])))
        #expect(error?.code == .roomFull && error?.isTemporary == true && error?.limit == 2)
        // A request for several conversations fails as a whole.
        try world.put(.room("other"))
        devices[2].request(Subscribe([.room("other"), room]))
        try world.send("x", to: .room("other"), by: "a")
        #expect(try devices[2].texts == [])
        devices[1].session.disconnected()
        #expect(try devices[2].error(devices[2].request(Subscribe([room]))) == nil)
        // A sender needs no subscription.
        try world.send("said", to: room, by: "d")
        #expect(try devices[2].texts == ["said"])
        try world.put(room, .init(capacity: .some(nil)))
        let late = doors.device("late")
        #expect(try late.error(late.request(Subscribe([room]))) == nil)
    }

    @Test("Only rooms have a capacity, which must be in range")
    func capacityIsChecked() throws {
        let world = try world()
        #expect(refusal { try world.put(room, .init(capacity: .some(0))) }?.parameter == "capacity")
        #expect(refusal { try world.put(.group("g"), .init(capacity: .some(5))) }?.parameter == "capacity")
    }

    @Test("Above a room's rate, low messages are dropped before normal ones, high ones never, and all are stored")
    func pace() throws {
        let world = try world()
        try world.set { $0.manners.roomMessagesPerSecond = 10 }
        let bob = Doors(world).device("bob")
        bob.request(Subscribe([room]))
        try send(20, .low, world)
        #expect(try bob.messages.count == 6)
        try send(20, .normal, world)
        #expect(try bob.messages.count == 10)
        try send(20, .high, world)
        #expect(try bob.messages.count == 30)
        #expect(try world.page(of: room, by: "bob").messages.count == 60)
        world.clock.advance(by: 1)
        try send(1, .low, world)
        #expect(try bob.messages.count == 31)
        #expect(try bob.messages.last?.attributes.priority == .low)
    }

    @Test("Subscribers of a room whose newest messages were dropped get its head once")
    func heads() throws {
        let world = try world()
        try world.set { $0.manners.roomMessagesPerSecond = 1 }
        let bob = Doors(world).device("bob")
        bob.request(Subscribe([room]))
        try send(50, .low, world)
        world.engine.hub.announceMovedChannels()
        world.engine.hub.announceMovedChannels()
        let heads = try bob.events.compactMap { event -> Seq? in
            if case .head(room, let news) = event { news.seq } else { nil }
        }
        #expect(heads == [50])
        try send(1, .high, world)
        world.engine.hub.announceMovedChannels()
        #expect(try bob.messages.last?.seq == 51)
        #expect(try bob.events.count == 3)
    }

    @Test("A group delivers every message, regardless of its priority")
    func groups() throws {
        let world = try world()
        try world.set { $0.manners.roomMessagesPerSecond = 1 }
        try world.make(.group("g"), members: ["alice", "bob"])
        let bob = Doors(world).device("bob")
        for _ in 0..<20 {
            var submission = world.submission()
            submission.attributes.priority = .low
            try world.send(submission, to: .group("g"), by: "alice")
        }
        #expect(try bob.messages.count == 20)
    }

    @Test("The sender's other devices get each message in every kind of conversation, even if it is not stored")
    func otherDevices() throws {
        let world = try world()
        try world.set { $0.manners.roomMessagesPerSecond = 1 }
        try world.make(.group("g"), members: ["alice", "bob"])
        try world.make(.community("city"), members: ["alice", "bob"])
        let doors = Doors(world)
        let (phone, laptop) = (doors.device("alice", "phone"), doors.device("alice", "laptop"))
        for device in [phone, laptop] { device.request(Subscribe([room])) }
        let ids: [ConversationID] = [.group("g"), .direct("bob"), .community("city", channel: "default"), room, room]
        let command = try MessageContent.command("play")
        for id in ids {
            phone.request(SendMessage(conversation: id, submission: world.submission("to \(id)")))
            phone.request(SendMessage(conversation: id, submission: Submission(id: world.newID(), content: command)))
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
        let world = try world()
        for content in [MessageContent.text("hi"), try .command("play")] {
            var submission = Submission(id: world.newID(), content: content)
            submission.attributes.priority = .high
            let error = refusal { try world.send(submission, to: room, by: "alice") }
            #expect(error?.code == .forbidden && error?.parameter == "priority")
            submission.id = world.newID()
            #expect(try world.send(submission, to: room, by: World.admin).outcome != .duplicate)
        }
        try world.make(.group("g"), members: ["alice"])
        var submission = world.submission()
        submission.attributes.priority = .high
        try world.send(submission, to: .group("g"), by: "alice")
    }

    @Test("Messages that are not stored count toward a room's rate, and dropped ones are not announced")
    func transients() throws {
        let world = try world()
        try world.set { $0.manners.roomMessagesPerSecond = 5 }
        let doors = Doors(world)
        let (phone, laptop) = (doors.device("alice", "phone"), doors.device("alice", "laptop"))
        let bob = doors.device("bob")
        for device in [bob, phone, laptop] { device.request(Subscribe([room])) }
        let command = try MessageContent.command("play")
        for _ in 0..<20 {
            phone.request(SendMessage(conversation: room, submission: Submission(id: world.newID(), content: command)))
        }
        world.engine.hub.announceMovedChannels()
        #expect(try bob.events.count == 5)
        #expect(try laptop.events.count == 20 && phone.events.isEmpty)
        #expect(world.engine.hub.messagesLeftOut == 15)
    }

    @Test("Changes count toward a room's rate, and subscribers get one head for all dropped changes")
    func changes() throws {
        let world = try world()
        try world.set { $0.manners.roomMessagesPerSecond = 5 }
        let message = world.submission("mine")
        try world.send(message, to: room, by: "alice")
        world.clock.advance(by: 60)
        let bob = Doors(world).device("bob")
        bob.request(Subscribe([room]))
        for number in 0..<20 { try world.react("\(number)", to: message.id, in: room, by: Caller(user: "alice")) }
        #expect(try bob.events.count == 5)
        world.clock.advance(by: 60)
        try world.send("streamed", to: room, by: "alice")
        world.engine.hub.announceMovedChannels()
        world.engine.hub.announceMovedChannels()
        let heads = try bob.events.compactMap { event -> [Int64]? in
            if case .head(room, let news) = event { [news.seq, news.rev] } else { nil }
        }
        #expect(heads == [[2, 20]])
    }

    @Test("Dropping a message does not access every connection in the room")
    func leavingOut() throws {
        final class Hearer: Connection {
            let looks = Mutex(0)
            let lane: any Lane
            init(_ lane: any Lane) { self.lane = lane }
            var user: UserID {
                looks.withLock { $0 += 1 }
                return "fan"
            }
            func hears(_ id: ConversationID) -> Bool { true }
            func joined(_ id: ConversationID, seesAllAbove seq: Seq) {}
            func left(_ id: ConversationID) {}
            func close(_ reason: CloseReason) {}
        }
        let world = try world()
        try world.set { $0.manners.roomMessagesPerSecond = 1 }
        let hearer = Hearer(DirectLane())
        world.engine.hub.subscribe(hearer, to: room, seesAllAbove: 0)
        try send(20, .low, world)
        #expect(world.engine.hub.messagesLeftOut == 19)
        #expect(hearer.looks.withLock { $0 } == 0)
    }
}
