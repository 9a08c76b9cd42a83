import Foundation
import Scrollback
import ScrollbackTesting

// These files contain every Swift example of the documentation word for word, so that the examples compile. Tests run
// the examples against a `TestServer` where possible. scripts/check-snippets.sh compares these files with the
// documentation.
//
// This file defines the context that the examples use.

/// The app's backend, which authenticates users and requests their tokens from the Scrollback server.
struct Backend {
    func chatToken() async throws -> String { "a token" }

    /// Uploads a file to the app's own storage and returns its URL.
    func put(_ file: URL, mediaType: String, progress: @escaping @Sendable (Double) -> Void) async throws -> URL {
        progress(1)
        return URL(filePath: "/").appending(path: file.lastPathComponent)
    }
}

let backend = Backend()

/// A function that displays a value on the app's screen.
typealias Show<Value> = (Value) -> Void

/// A server with Alice and Bob in a group.
struct Stage {
    let server: TestServer
    let alice: ChatClient
    let bob: ChatClient
    static let group = ConversationID.group("swift")

    /// The group, as Alice sees it.
    var chat: Conversation { alice.conversation(Self.group) }
    /// The group, as Bob sees it.
    var bobsChat: Conversation { bob.conversation(Self.group) }

    /// Creates the server.
    ///
    /// - Parameter count: The number of messages that Bob sends first: "1", "2", and so on.
    init(saying count: Int = 0) async throws {
        server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        alice = try await server.client("alice")
        bob = try await server.client("bob")
        for number in 0..<count { try await bobsChat.send(.text("\(number + 1)")) }
        await bob.waitForOutbox()
        for await state in alice.connection where state == .online { break }
        // Bob's messages may still be in transit to Alice. The response contains the newest one.
        _ = try await chat.history(limit: 1, from: .remote)
    }

    /// Loads the first 100 messages to Alice's device and returns them, oldest first.
    func messages() async throws -> [Message] {
        try await chat.history(.earliest, limit: 100, sort: .oldestFirst, from: .remote).messages
    }
}

extension [Message] {
    /// The texts of the messages as numbers.
    var numbers: [Int] { compactMap { $0.text.flatMap { Int($0) } } }
}

/// Waits up to 90 seconds for a condition and returns whether it became true.
func eventually(_ condition: () async throws -> Bool) async throws -> Bool {
    let end = ContinuousClock.now + .seconds(90)
    while ContinuousClock.now < end {
        if try await condition() { return true }
        try await Task.sleep(for: .milliseconds(10))
    }
    return try await condition()
}
