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

    private func pushed(_ harness: EngineHarness) async throws -> [UserID] {
        services.forget()
        try await harness.pushAll()
        return services.pushed.map(\.target.receiver).sorted()
    }

    @Test(
        "Offline and inactive members with a device get a push, and the sender and active members do not",
        .rows(121, 122))
    func offlineMembersGetAPush() async throws {
        let harness = try EngineHarness.pushing(services, users: ["alice", "bob", "carol", "dave"])
        try harness.make(group, members: ["alice", "bob", "carol", "dave", "erin"])
        let sessions = SessionHarness(harness)
        let carol = sessions.device("carol")
        let dave = sessions.device("dave")
        dave.request(SetActivity(isActive: false))
        try harness.send("hi", to: group, by: "alice")
        #expect(try await pushed(harness) == ["bob", "dave"])
        carol.session.close(.normal)
        try harness.send("hi", to: group, by: "alice")
        #expect(try await pushed(harness) == ["bob", "carol", "dave"])
    }

    @Test("The peer in a direct conversation and the receiver of a system message get a push")
    func directPeerAndSystemReceiverGetAPush() async throws {
        let harness = try EngineHarness.pushing(services, users: ["alice", "bob"])
        try harness.send("hi", to: .direct("bob"), by: "alice")
        #expect(try await pushed(harness) == ["bob"])
        try harness.send(harness.submission("bill"), to: .system(to: "alice", from: "billing"), by: EngineHarness.admin)
        #expect(try await pushed(harness) == ["alice"])
        #expect(services.pushed.first?.target.conversation == (try ConversationID("system:billing")))
    }

    @Test("Rooms send no pushes", .rows(125))
    func rooms() async throws {
        let harness = try EngineHarness.pushing(services, users: ["alice", "bob"])
        try harness.put(.room("lobby"))
        try harness.send(harness.submission("hi", mentions: .everyone()), to: .room("lobby"), by: "alice")
        #expect(try await pushed(harness) == [])
        #expect(try harness.engine.pendingPushes().waiting == 0)
    }

    @Test("In community channels, mentioned members and members with the level `all` get a push")
    func communities() async throws {
        let harness = try EngineHarness.pushing(services, users: ["alice", "bob", "carol", "dave"])
        let (open, closed) = (
            ConversationID.community("city", channel: "open"), ConversationID.community("city", channel: "closed")
        )
        try harness.make(.community("city"), members: ["alice", "bob", "carol", "dave"])
        try harness.put(open)
        try harness.put(closed, .init(isPrivate: true, members: ["alice", "bob"]))
        try harness.send("hi", to: open, by: "alice")
        #expect(try await pushed(harness) == [])
        try harness.send(harness.submission("hi", mentions: .users(["bob"])), to: open, by: "alice")
        #expect(try await pushed(harness) == ["bob"])
        try harness.send(harness.submission("hi", mentions: .everyone()), to: open, by: "alice")
        #expect(try await pushed(harness) == ["bob", "carol", "dave"])
        try harness.send(harness.submission("hi", mentions: .everyone()), to: closed, by: "alice")
        #expect(try await pushed(harness) == ["bob"])
        try harness.prefer(#"{"level":"all"}"#, by: "carol")
        try harness.send("hi", to: open, by: "alice")
        #expect(try await pushed(harness) == ["carol"])
        // A level for one channel applies only there.
        try harness.change(open, .notifications(.all), by: "dave")
        try harness.send("hi", to: open, by: "alice")
        #expect(try await pushed(harness) == ["carol", "dave"])
        try harness.change(open, .notifications(nil), by: "dave")
        try harness.change(open, .settings(isMuted: true, isPinned: nil), by: "carol")
        try harness.send("hi", to: open, by: "alice")
        #expect(try await pushed(harness) == [])
    }

    @Test("A muted conversation sends no pushes, unless the member chose mentions there")
    func levels() async throws {
        let harness = try EngineHarness.pushing(services, users: ["bob"])
        try harness.make(group, members: ["alice", "bob"])
        func reaches(_ mentions: Mentions? = nil) async throws -> Bool {
            try harness.send(harness.submission("hi", mentions: mentions), to: group, by: "alice")
            return try await pushed(harness) == ["bob"]
        }
        try harness.change(group, .settings(isMuted: true, isPinned: nil), by: "bob")
        #expect(try await !reaches())
        #expect(try await !reaches(.users(["bob"])))
        try harness.change(group, .notifications(.mentions), by: "bob")
        #expect(try await !reaches())
        #expect(try await reaches(.users(["bob"])))
        #expect(try await reaches(.everyone()))
        try harness.change(group, .settings(isMuted: false, isPinned: nil), by: "bob")
        #expect(try await !reaches())
        try harness.change(group, .notifications(nil), by: "bob")
        #expect(try await reaches())
        try harness.prefer(#"{"level":"none"}"#, by: "bob")
        #expect(try await !reaches(.users(["bob"])))
        try harness.change(group, .notifications(.all), by: "bob")
        #expect(try await reaches())
    }

    @Test("Quiet hours use their own time zone, can span midnight, and can let mentions pass")
    func quietHours() async throws {
        let harness = try EngineHarness.pushing(services, users: ["bob"])
        try harness.make(group, members: ["alice", "bob"])
        func reaches(_ mentions: Mentions? = nil) async throws -> Bool {
            try harness.send(harness.submission("hi", mentions: mentions), to: group, by: "alice")
            return try await pushed(harness) == ["bob"]
        }
        // 2026-11-21 15:20 in Tokyo is 06:20 in London.
        harness.clock.set(Date(timeIntervalSince1970: 1_795_242_000))
        try harness.prefer(#"{"quietHours":{"from":"22:00","to":"07:00","timeZone":"Asia/Tokyo"}}"#, by: "bob")
        #expect(try await reaches())
        try harness.prefer(#"{"quietHours":{"from":"22:00","to":"07:00","timeZone":"Europe/London"}}"#, by: "bob")
        #expect(try await !reaches())
        #expect(try await !reaches(.users(["bob"])))
        try harness.prefer(
            #"{"quietHours":{"from":"22:00","to":"07:00","timeZone":"Europe/London","allowsMentions":true}}"#, by: "bob"
        )
        #expect(try await !reaches())
        #expect(try await reaches(.users(["bob"])))
        harness.clock.advance(by: 3600)
        #expect(try await reaches())
        try harness.prefer(#"{"quietHours":null}"#, by: "bob")
        harness.clock.advance(by: 16 * 3600)
        #expect(try await reaches())
    }

    @Test("Members who blocked the sender, left, joined later or are deactivated get no push")
    func blockedAndFormerMembersGetNoPush() async throws {
        let harness = try EngineHarness.pushing(services, users: ["bob", "carol", "dave", "erin", "frank"])
        try harness.make(group, members: ["alice", "bob", "carol", "dave", "erin"])
        try harness.block("alice", by: "bob")
        try harness.leave(group, "carol")
        try harness.setState(of: "dave", isActive: false)
        try harness.send("hi", to: group, by: "alice")
        try harness.join(group, "frank")
        #expect(try await pushed(harness) == ["erin"])
        try harness.send("hi", to: group, by: "alice")
        #expect(try await pushed(harness) == ["erin", "frank"])
    }

    @Test("Devices that an administrator removed get no push, and neither do erased users")
    func removedDevicesGetNoPush() async throws {
        let harness = try EngineHarness.pushing(services, users: ["bob", "carol", "dave"])
        try harness.make(group, members: ["alice", "bob", "carol", "dave"])
        try harness.send("hi", to: group, by: "alice")
        try harness.perform(DeletePushDevice(device: "phone"), by: Caller(user: "bob"))
        #expect(try await pushed(harness) == ["carol", "dave"])
        _ = try await harness.erase("carol", .keep)
        #expect(try harness.engine.pushDevices(of: "carol", by: EngineHarness.admin) == [])
        try harness.send("hi", to: group, by: "alice")
        #expect(try await pushed(harness) == ["dave"])
    }

    @Test("A message that the member has read, or that was recalled or deleted, is not pushed")
    func readOrRecalledMessageIsNotPushed() async throws {
        let harness = try EngineHarness.pushing(services, users: ["bob", "carol"])
        try harness.make(group, members: ["alice", "bob", "carol"])
        let seq = try harness.send("hi", to: group, by: "alice")
        try harness.read(group, to: seq, by: "bob")
        #expect(try await pushed(harness) == ["carol"])
        let result = try harness.send(harness.submission("oops", type: .image), to: group, by: "alice")
        try harness.delete(result.id, in: group, by: Caller(user: "alice"))
        #expect(try await pushed(harness) == [])
        try harness.send("gone", to: group, by: "alice")
        try harness.delete(DeleteRange(from: .seq(1), to: .seq(100)), of: group)
        #expect(try await pushed(harness) == [])
    }

    @Test(
        "A silent message is not pushed, and a message type without a default push needs a push text",
        .rows(124, 147, 148))
    func silentMessagesAreNotPushed() async throws {
        let harness = try EngineHarness.pushing(services, users: ["bob"])
        try harness.make(group, members: ["alice", "bob"])
        func reaches(_ type: MessageType, _ options: PushOptions? = nil, _ traits: MessageTraits = .init()) async throws
            -> Bool
        {
            var submission = harness.submission("hi", type: type)
            submission.attributes.push = try options?.json()
            submission.attributes.traits = traits
            try harness.send(submission, to: group, by: EngineHarness.admin)
            return try await pushed(harness) == ["bob"]
        }
        #expect(try await reaches(.text))
        #expect(try await !reaches(.text, nil, MessageTraits(notifies: false)))
        #expect(try await !reaches(.text, PushOptions(text: "look"), MessageTraits(notifies: false)))
        #expect(try await !reaches(.appPoll))
        #expect(try await reaches(.appPoll, PushOptions(text: "a poll")))
        #expect(try await !reaches(.notice))
        #expect(try await reaches(.notice, PushOptions(text: "look")))
        #expect(try await !reaches(.command))
        // A command is not stored, but it can be pushed.
        #expect(try await reaches(.command, PushOptions(text: "knock knock")))
        #expect(services.texts == ["bob: knock knock"])
        #expect(services.pushed.first?.target.seq == nil)
    }

    @Test("A device belongs to the user who registered it last, and without devices no push is queued")
    func devices() async throws {
        let harness = try EngineHarness.pushing(services)
        try harness.make(group, members: ["alice", "bob", "carol"])
        try harness.register("bob", token: "abcd")
        try harness.register("bob", "tablet")
        try harness.send("hi", to: group, by: "alice")
        #expect(try await pushed(harness) == ["bob", "bob"])
        try harness.register("carol", token: "abcd")
        try harness.send("hi", to: group, by: "alice")
        #expect(try await pushed(harness) == ["bob", "carol"])
        try harness.perform(DeletePushDevice(device: "tablet"), by: Caller(user: "bob"))
        try harness.perform(DeletePushDevice(device: "phone"), by: Caller(user: "carol"))
        try harness.send("hi", to: group, by: "alice")
        #expect(try harness.engine.pendingPushes().waiting == 0)
        #expect(try await pushed(harness) == [])
        for index in 0..<25 { try harness.register("bob", "device \(index)") }
        #expect(try harness.engine.pushDevices(of: "bob", by: Caller(user: "bob")).count == 20)
        #expect(
            refusal { _ = try harness.engine.pushDevices(of: "bob", by: Caller(user: "carol")) }?.code == .forbidden)
    }
}
