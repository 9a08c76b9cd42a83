import Foundation
import Scrollback
import ScrollbackTesting

// Every Swift example of the documentation is one function or type of these files, word for word, so that it compiles;
// what can run against a `ChatWorld` is run by a test. scripts/check-snippets.sh compares the two.
//
// Here is what the examples take for granted.

/// The app's own server: it knows who is signed in, and asks Scrollback's for a token of theirs.
struct Backend {
    func chatToken() async throws -> String { "a token" }

    /// Brings a file to the app's own storage, and says where everybody finds it.
    func put(_ file: URL, mediaType: String, progress: @escaping @Sendable (Double) -> Void) async throws -> URL {
        progress(1)
        return URL(filePath: "/").appending(path: file.lastPathComponent)
    }
}

let backend = Backend()

/// What an app's screen does with what it is given.
typealias Show<Value> = (Value) -> Void

/// Alice and Bob in a group, in which somebody has said something.
struct Stage {
    let world: ChatWorld
    let alice: ChatClient
    let bob: ChatClient
    static let group = ConversationID.group("swift")

    /// Alice's view of it.
    var chat: Conversation { alice.conversation(Self.group) }
    /// Bob's view of it.
    var bobsChat: Conversation { bob.conversation(Self.group) }

    /// - Parameter count: how many messages Bob has sent, "1", "2", and so on.
    init(saying count: Int = 0) async throws {
        world = try ChatWorld(users: ["alice", "bob"])
        try await world.makeGroup("swift", members: ["alice", "bob"])
        alice = try await world.client("alice")
        bob = try await world.client("bob")
        for number in 0..<count { try await bobsChat.send(.text("\(number + 1)")) }
        await bob.flushed()
        for await state in alice.connection where state == .online { break }
        // What Bob said may still be on its way to Alice; asked, the server tells of it.
        _ = try await chat.history(limit: 1, from: .remote)
    }

    /// The first 100 messages, oldest first; Alice has them then.
    func messages() async throws -> [Message] {
        try await chat.history(.earliest, limit: 100, sort: .oldestFirst, from: .remote).messages
    }
}

extension [Message] {
    /// What they say, as numbers.
    var numbers: [Int] { compactMap { $0.text.flatMap { Int($0) } } }
}

/// Waits until something holds, well beyond what a loaded machine takes.
func eventually(_ condition: () async throws -> Bool) async throws -> Bool {
    let end = ContinuousClock.now + .seconds(90)
    while ContinuousClock.now < end {
        if try await condition() { return true }
        try await Task.sleep(for: .milliseconds(10))
    }
    return try await condition()
}
