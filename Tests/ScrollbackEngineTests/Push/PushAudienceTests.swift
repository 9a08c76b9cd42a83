import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Testing

/// Tests which users receive a push.
@Suite("Recipients of pushes")
struct PushAudienceTests {
    private let services = FakeServices()
    private let group = ConversationID.group("swift")

    private func pushed(_ world: World) async throws -> [UserID] {
        services.forget()
        try await world.pushAll()
        return services.pushed.map(\.place.receiver).sorted()
    }

    @Test(
        "Offline and inactive members with a device get a push, and the sender and active members do not",
        .rows(121, 122))
    func away() async throws {
        let world = try World.pushing(services, users: ["alice", "bob", "carol", "dave"])
        try world.make(group, members: ["alice", "bob", "carol", "dave", "erin"])
        let doors = Doors(world)
        let carol = doors.device("carol")
        let dave = doors.device("dave")
        dave.request(SetActivity(isActive: false))
        try world.send("hi", to: group, by: "alice")
        #expect(try await pushed(world) == ["bob", "dave"])
        carol.session.close(.normal)
        try world.send("hi", to: group, by: "alice")
        #expect(try await pushed(world) == ["bob", "carol", "dave"])
    }

    @Test("The peer in a direct conversation and the receiver of a system message get a push")
    func named() async throws {
        let world = try World.pushing(services, users: ["alice", "bob"])
        try world.send("hi", to: .direct("bob"), by: "alice")
        #expect(try await pushed(world) == ["bob"])
        try world.send(world.submission("bill"), to: .system(to: "alice", from: "billing"), by: World.admin)
        #expect(try await pushed(world) == ["alice"])
        #expect(services.pushed.first?.place.conversation == (try ConversationID("system:billing")))
    }

    @Test("Rooms send no pushes", .rows(125))
    func rooms() async throws {
        let world = try World.pushing(services, users: ["alice", "bob"])
        try world.put(.room("lobby"))
        try world.send(world.submission("hi", mentions: .everyone()), to: .room("lobby"), by: "alice")
        #expect(try await pushed(world) == [])
        #expect(try world.engine.waitingPushes().waiting == 0)
    }

    @Test("In community channels, mentioned members and members with the level `all` get a push")
    func communities() async throws {
        let world = try World.pushing(services, users: ["alice", "bob", "carol", "dave"])
        let (open, closed) = (
            ConversationID.community("city", channel: "open"), ConversationID.community("city", channel: "closed")
        )
        try world.make(.community("city"), members: ["alice", "bob", "carol", "dave"])
        try world.put(open)
        try world.put(closed, .init(isPrivate: true, members: ["alice", "bob"]))
        try world.send("hi", to: open, by: "alice")
        #expect(try await pushed(world) == [])
        try world.send(world.submission("hi", mentions: .users(["bob"])), to: open, by: "alice")
        #expect(try await pushed(world) == ["bob"])
        try world.send(world.submission("hi", mentions: .everyone()), to: open, by: "alice")
        #expect(try await pushed(world) == ["bob", "carol", "dave"])
        try world.send(world.submission("hi", mentions: .everyone()), to: closed, by: "alice")
        #expect(try await pushed(world) == ["bob"])
        try world.prefer(#"{"level":"all"}"#, by: "carol")
        try world.send("hi", to: open, by: "alice")
        #expect(try await pushed(world) == ["carol"])
        // A level for one channel applies only there.
        try world.change(open, .notifications(.all), by: "dave")
        try world.send("hi", to: open, by: "alice")
        #expect(try await pushed(world) == ["carol", "dave"])
        try world.change(open, .notifications(nil), by: "dave")
        try world.change(open, .settings(isMuted: true, isPinned: nil), by: "carol")
        try world.send("hi", to: open, by: "alice")
        #expect(try await pushed(world) == [])
    }

    @Test("A muted conversation sends no pushes, unless the member chose mentions there")
    func levels() async throws {
        let world = try World.pushing(services, users: ["bob"])
        try world.make(group, members: ["alice", "bob"])
        func reaches(_ mentions: Mentions? = nil) async throws -> Bool {
            try world.send(world.submission("hi", mentions: mentions), to: group, by: "alice")
            return try await pushed(world) == ["bob"]
        }
        try world.change(group, .settings(isMuted: true, isPinned: nil), by: "bob")
        #expect(try await !reaches())
        #expect(try await !reaches(.users(["bob"])))
        try world.change(group, .notifications(.mentions), by: "bob")
        #expect(try await !reaches())
        #expect(try await reaches(.users(["bob"])))
        #expect(try await reaches(.everyone()))
        try world.change(group, .settings(isMuted: false, isPinned: nil), by: "bob")
        #expect(try await !reaches())
        try world.change(group, .notifications(nil), by: "bob")
        #expect(try await reaches())
        try world.prefer(#"{"level":"none"}"#, by: "bob")
        #expect(try await !reaches(.users(["bob"])))
        try world.change(group, .notifications(.all), by: "bob")
        #expect(try await reaches())
    }

    @Test("Quiet hours use their own time zone, can span midnight, and can let mentions pass")
    func quietHours() async throws {
        let world = try World.pushing(services, users: ["bob"])
        try world.make(group, members: ["alice", "bob"])
        func reaches(_ mentions: Mentions? = nil) async throws -> Bool {
            try world.send(world.submission("hi", mentions: mentions), to: group, by: "alice")
            return try await pushed(world) == ["bob"]
        }
        // 2026-11-21 15:20 in Tokyo is 06:20 in London.
        world.clock.set(Date(timeIntervalSince1970: 1_795_242_000))
        try world.prefer(#"{"quietHours":{"from":"22:00","to":"07:00","timeZone":"Asia/Tokyo"}}"#, by: "bob")
        #expect(try await reaches())
        try world.prefer(#"{"quietHours":{"from":"22:00","to":"07:00","timeZone":"Europe/London"}}"#, by: "bob")
        #expect(try await !reaches())
        #expect(try await !reaches(.users(["bob"])))
        try world.prefer(
            #"{"quietHours":{"from":"22:00","to":"07:00","timeZone":"Europe/London","allowsMentions":true}}"#, by: "bob"
        )
        #expect(try await !reaches())
        #expect(try await reaches(.users(["bob"])))
        world.clock.advance(by: 3600)
        #expect(try await reaches())
        try world.prefer(#"{"quietHours":null}"#, by: "bob")
        world.clock.advance(by: 16 * 3600)
        #expect(try await reaches())
    }

    @Test("Members who blocked the sender, left, joined later or are deactivated get no push")
    func outside() async throws {
        let world = try World.pushing(services, users: ["bob", "carol", "dave", "erin", "frank"])
        try world.make(group, members: ["alice", "bob", "carol", "dave", "erin"])
        try world.block("alice", by: "bob")
        try world.leave(group, "carol")
        try world.done { world.engine.setState(of: "dave", isActive: false, by: World.admin, completion: $0) }
        try world.send("hi", to: group, by: "alice")
        try world.join(group, "frank")
        #expect(try await pushed(world) == ["erin"])
        try world.send("hi", to: group, by: "alice")
        #expect(try await pushed(world) == ["erin", "frank"])
    }

    @Test("Devices that an administrator removed get no push, and neither do erased users")
    func ended() async throws {
        let world = try World.pushing(services, users: ["bob", "carol", "dave"])
        try world.make(group, members: ["alice", "bob", "carol", "dave"])
        try world.send("hi", to: group, by: "alice")
        try world.done { world.engine.dropPushDevice("phone", of: "bob", by: World.admin, completion: $0) }
        #expect(try await pushed(world) == ["carol", "dave"])
        _ = try await world.erase("carol", .keep)
        #expect(try world.engine.pushDevices(of: "carol", by: World.admin) == [])
        try world.send("hi", to: group, by: "alice")
        #expect(try await pushed(world) == ["dave"])
    }

    @Test("A message that the member has read, or that was recalled or deleted, is not pushed")
    func meanwhile() async throws {
        let world = try World.pushing(services, users: ["bob", "carol"])
        try world.make(group, members: ["alice", "bob", "carol"])
        let seq = try world.send("hi", to: group, by: "alice")
        try world.read(group, to: seq, by: "bob")
        #expect(try await pushed(world) == ["carol"])
        let result = try world.send(world.submission("oops", type: .image), to: group, by: "alice")
        try world.delete(result.id, in: group, by: Caller(user: "alice"))
        #expect(try await pushed(world) == [])
        try world.send("gone", to: group, by: "alice")
        try world.delete(DeleteRange(from: .seq(1), to: .seq(100)), of: group)
        #expect(try await pushed(world) == [])
    }

    @Test(
        "A silent message is not pushed, and a message type without a default push needs a push text",
        .rows(124, 147, 148))
    func traits() async throws {
        let world = try World.pushing(services, users: ["bob"])
        try world.make(group, members: ["alice", "bob"])
        func reaches(_ type: MessageType, _ options: PushOptions? = nil, _ traits: MessageTraits = .init()) async throws
            -> Bool
        {
            var submission = world.submission("hi", type: type)
            submission.attributes.push = try options?.json()
            submission.attributes.traits = traits
            try world.send(submission, to: group, by: World.admin)
            return try await pushed(world) == ["bob"]
        }
        #expect(try await reaches(.text))
        #expect(try await !reaches(.text, nil, MessageTraits(notifies: false)))
        #expect(try await !reaches(.text, PushOptions(text: "look"), MessageTraits(notifies: false)))
        #expect(try await !reaches(.poll))
        #expect(try await reaches(.poll, PushOptions(text: "a poll")))
        #expect(try await !reaches(.notice))
        #expect(try await reaches(.notice, PushOptions(text: "look")))
        #expect(try await !reaches(.command))
        // A command is not stored, but it can be pushed.
        #expect(try await reaches(.command, PushOptions(text: "knock knock")))
        #expect(services.texts == ["bob: knock knock"])
        #expect(services.pushed.first?.place.seq == nil)
    }

    @Test("A device belongs to the user who registered it last, and without devices no push is queued")
    func devices() async throws {
        let world = try World.pushing(services)
        try world.make(group, members: ["alice", "bob", "carol"])
        try world.register("bob", token: "abcd")
        try world.register("bob", "tablet")
        try world.send("hi", to: group, by: "alice")
        #expect(try await pushed(world) == ["bob", "bob"])
        try world.register("carol", token: "abcd")
        try world.send("hi", to: group, by: "alice")
        #expect(try await pushed(world) == ["bob", "carol"])
        try world.done { world.engine.dropPushDevice("tablet", of: "bob", by: Caller(user: "bob"), completion: $0) }
        try world.done { world.engine.dropPushDevice("phone", of: "carol", by: Caller(user: "carol"), completion: $0) }
        try world.send("hi", to: group, by: "alice")
        #expect(try world.engine.waitingPushes().waiting == 0)
        #expect(try await pushed(world) == [])
        for index in 0..<25 { try world.register("bob", "device \(index)") }
        #expect(try world.engine.pushDevices(of: "bob", by: Caller(user: "bob")).count == 20)
        #expect(refusal { _ = try world.engine.pushDevices(of: "bob", by: Caller(user: "carol")) }?.code == .forbidden)
    }
}
