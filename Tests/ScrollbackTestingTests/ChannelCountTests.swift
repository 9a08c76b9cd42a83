import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import Testing

/// Counts of channels that are not heard in full: a device has its user's own messages and mentions, and numbers.
@Suite("Counts of channels")
struct ChannelCountTests {
    private let channel = ConversationID.community("city", channel: "open")

    @Test("What one says oneself right after others, before a channel's news, is none of what is unread there")
    func ownBehindOthers() async throws {
        let world = try ChatWorld(users: ["alice", "bob"])
        try await world.makeCommunity("city", channels: ["open"], members: ["alice", "bob"])
        let alice = try await world.client("alice")
        let devices = [try await world.client("bob"), try await world.client("bob")]
        for device in devices { #expect(try await eventually { try await device.knows(channel) }) }
        // News come when they come: in one of so many rounds they do not come between.
        for round in 1...12 as ClosedRange<Int64> {
            for _ in 0..<3 { _ = try await alice.conversation(channel).send(.text("hi")).delivered() }
            _ = try await devices[Int(round) % 2].conversation(channel).send(.text("me too")).delivered()
            for (index, device) in devices.enumerated() {
                #expect(
                    try await eventually { try await device.recents[channel]?.unread == 3 * round },
                    "round \(round), device \(index)")
            }
        }
        await world.close()
    }
}

extension ChatClient {
    fileprivate func knows(_ id: ConversationID) async throws -> Bool {
        try await core.store.read { try $0.log(of: id) } != nil
    }
}
