import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackTesting
import TestSupport
import Testing

/// A server with a group "swift" of Alice and Bob. Alice sends, and Bob has two clients. All clients receive live
/// messages.
struct Scene {
    let server: TestServer
    let alice: ChatClient
    let phone: ChatClient
    let laptop: ChatClient
    var devices: [ChatClient] { [phone, laptop] }

    /// Bob's two clients and a new one that has loaded its recents list.
    func all() async throws -> [ChatClient] {
        let new = try await server.client("bob")
        try await new.ready()
        return devices + [new]
    }
}

/// Creates a server with such a group.
///
/// - Parameter members: The members of the group, the owner first.
func scene(_ members: [UserID] = ["alice", "bob"]) async throws -> Scene {
    let server = try TestServer(users: ["alice", "bob"])
    try await server.makeGroup("swift", members: members)
    let scene = Scene(
        server: server, alice: try await server.client("alice"), phone: try await server.client("bob"),
        laptop: try await server.client("bob"))
    for client in [scene.alice, scene.phone, scene.laptop] { try await client.ready() }
    return scene
}

/// Waits until a condition is true for each client, and expects that it stays true.
func until(
    _ what: String, _ devices: [ChatClient], sourceLocation: SourceLocation = #_sourceLocation,
    _ holds: (ChatClient) async throws -> Bool
) async throws {
    for (index, device) in devices.enumerated() {
        _ = try await eventually { try await holds(device) }
        // Requests in flight complete in this time, and must not change the result.
        try await Task.sleep(for: .milliseconds(30))
        let shown = try await device.recents.view(limit: 5).conversations.map {
            "\($0.id) \($0.unread)\($0.isMarkedUnread ? " marked" : "")"
        }
        #expect(try await holds(device), "\(what) on device \(index): \(shown)", sourceLocation: sourceLocation)
    }
}

extension ChatClient {
    /// Waits until the client has loaded its recents list and receives live messages.
    ///
    /// A client is online from the server's welcome on, shortly before the server delivers live messages to it. Of the
    /// messages before its list was loaded, it has only the newest.
    func ready(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let isReady = try await eventually { core.isCurrent(.group("x")) }
        #expect(isReady, sourceLocation: sourceLocation)
    }

    /// Sends these numbers as messages, and waits until the server has stored them.
    @discardableResult
    func sendMessages(
        _ numbers: ClosedRange<Int>, in id: ConversationID, mentioning mentions: Mentions? = nil
    ) async throws -> [Message] {
        var sendings: [SendHandle] = []
        for number in numbers {
            sendings.append(try await conversation(id).send(.text("\(number)"), mentioning: mentions))
        }
        var messages: [Message] = []
        for sending in sendings { messages.append(try await sending.waitUntilSent()) }
        return messages
    }
}
