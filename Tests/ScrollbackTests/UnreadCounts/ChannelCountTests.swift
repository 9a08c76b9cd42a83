import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import TestSupport
import Testing

/// Tests counts of channels without a subscription. The client receives the user's own messages, mentions and counted
/// indexes, but no other messages.
@Suite("Counts of channels without a subscription")
struct ChannelCountTests {
    private let channel = ConversationID.community("city", channel: "open")

    @Test("An own message sent before the channel's head event arrives is not counted as unread")
    func ownMessageBeforeHeadEventIsNotUnread() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeCommunity("city", channels: ["open"], members: ["alice", "bob"])
        let alice = try await server.client("alice")
        let devices = [try await server.client("bob"), try await server.client("bob")]
        for device in devices { #expect(try await eventually { try await device.knows(channel) }) }
        // The server sends head events at its own pace. With this many rounds, no event arrives between the sends of
        // some round.
        for round in 1...12 as ClosedRange<Int64> {
            for _ in 0..<3 { _ = try await alice.conversation(channel).send(.text("hi")).waitUntilSent() }
            _ = try await devices[Int(round) % 2].conversation(channel).send(.text("me too")).waitUntilSent()
            for (index, device) in devices.enumerated() {
                #expect(
                    try await eventually { try await device.recents[channel]?.unread == 3 * round },
                    "round \(round), device \(index)")
            }
        }
        await server.close()
    }
}

extension ChatClient {
    fileprivate func knows(_ id: ConversationID) async throws -> Bool {
        try await core.store.read { try $0.log(of: id) } != nil
    }
}
