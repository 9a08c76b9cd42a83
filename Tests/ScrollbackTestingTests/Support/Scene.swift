import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackTesting
import Testing

/// A group of alice and bob, called "swift"; she talks, he has two devices. All of them hear what is said from now on.
struct Scene {
    let world: ChatWorld
    let alice: ChatClient
    let phone: ChatClient
    let laptop: ChatClient
    var devices: [ChatClient] { [phone, laptop] }

    /// The two and one that is new, which has loaded its list.
    func all() async throws -> [ChatClient] {
        let new = try await world.client("bob")
        try await new.ready()
        return devices + [new]
    }
}

/// A world with such a group.
///
/// - Parameter members: of the group, its owner first.
func scene(_ members: [UserID] = ["alice", "bob"]) async throws -> Scene {
    let world = try ChatWorld(users: ["alice", "bob"])
    try await world.makeGroup("swift", members: members)
    let scene = Scene(
        world: world, alice: try await world.client("alice"), phone: try await world.client("bob"),
        laptop: try await world.client("bob"))
    for client in [scene.alice, scene.phone, scene.laptop] { try await client.ready() }
    return scene
}

/// Waits until something holds on each of some devices, and stays so.
func until(
    _ what: String, _ devices: [ChatClient], sourceLocation: SourceLocation = #_sourceLocation,
    _ holds: (ChatClient) async throws -> Bool
) async throws {
    for (index, device) in devices.enumerated() {
        _ = try await eventually { try await holds(device) }
        // What is under way has arrived by then, and changes nothing.
        try await Task.sleep(for: .milliseconds(30))
        let shown = try await device.recents.view(limit: 5).conversations.map {
            "\($0.id) \($0.unread)\($0.isMarkedUnread ? " marked" : "")"
        }
        #expect(try await holds(device), "\(what) on device \(index): \(shown)", sourceLocation: sourceLocation)
    }
}

extension ChatClient {
    /// Waits until it has loaded its list, and hears what is said from then on.
    ///
    /// A client is online from the server's welcome on, a moment before the server passes anything on to it; and of what
    /// was said before its list came it has the newest message alone.
    func ready(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let isReady = try await eventually { core.isCurrent(.group("x")) }
        #expect(isReady, sourceLocation: sourceLocation)
    }

    /// Says numbers, one after the other, until the server has them.
    @discardableResult
    func say(
        _ numbers: ClosedRange<Int>, in id: ConversationID, mentioning mentions: Mentions? = nil
    ) async throws -> [Message] {
        var sendings: [Sending] = []
        for number in numbers {
            sendings.append(try await conversation(id).send(.text("\(number)"), mentioning: mentions))
        }
        var messages: [Message] = []
        for sending in sendings { messages.append(try await sending.delivered()) }
        return messages
    }
}
