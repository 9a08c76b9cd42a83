import Foundation
import Scrollback
import ScrollbackTesting
import Testing

/// The article on encryption.
@Suite("Examples: encryption")
struct EncryptionSnippets {
    func open(server: URL, folder: URL, key: Data) async throws -> ChatClient {
        var configuration = ChatClient.Configuration(
            server: server, user: "alice", store: .directory(folder), token: { try await backend.chatToken() })
        configuration.cipher = try MessageCipher(keys: [.init(id: "2026-11", key: key)])
        let client = try await ChatClient.open(configuration)
        return client
    }

    func read(message: Message, show: Show<String>) {
        if let error = message.decryptionError {
            show("This message can't be read: \(error.message)")
        } else {
            show(message.text ?? "")
        }
    }

    func rotate(
        _ configuration: inout ChatClient.Configuration, from old: MessageCipher.Key, to new: MessageCipher.Key
    ) throws {
        // first everywhere: the new key is known, and not used yet
        configuration.cipher = try MessageCipher(keys: [old, new])
        // then: what is sent from now on takes the new one
        configuration.cipher = try MessageCipher(keys: [new, old])
    }

    @Test("With a key a message is read, and without it why not is said")
    func reads() async throws {
        let world = try ChatWorld(users: ["alice", "bob"])
        try await world.makeGroup("swift", members: ["alice", "bob"])
        let (old, new) = (
            MessageCipher.Key(id: "2026-05", key: Data(repeating: 1, count: 32)),
            MessageCipher.Key(id: "2026-11", key: Data(repeating: 2, count: 32))
        )
        let alice = try await world.client("alice") { try? rotate(&$0, from: old, to: new) }
        let sent = try await alice.conversation(Stage.group).send(.text("hello")).delivered()
        var shown: [String] = []
        for keys in [[new], [old]] {
            let cipher = try MessageCipher(keys: keys)
            let bob = try await world.client("bob") { $0.cipher = cipher }
            for await state in bob.connection where state == .online { break }
            read(message: try await bob.conversation(Stage.group).message(sent.id)) { shown.append($0) }
        }
        #expect(shown.count == 2 && shown[0] == "hello" && shown[1].contains("2026-11"))
        let folder = FileManager.default.temporaryDirectory.appending(path: "scrollback-\(UUID())")
        let address = try #require(URL(string: "http://127.0.0.1:9"))
        let client = try await open(server: address, folder: folder, key: Data(repeating: 3, count: 32))
        await client.close()
        try FileManager.default.removeItem(at: folder)
        await world.close()
    }
}
