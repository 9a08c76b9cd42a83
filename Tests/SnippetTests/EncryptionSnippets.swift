import Foundation
import Scrollback
import ScrollbackTesting
import Testing

/// The examples of the articles on encryption.
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
        // Release 1: every client can decrypt with the new key, but encrypts with the old one.
        configuration.cipher = try MessageCipher(keys: [old, new])
        // Release 2: clients encrypt with the new key.
        configuration.cipher = try MessageCipher(keys: [new, old])
    }

    #if canImport(Security)
        func useKeychain(_ configuration: inout ChatClient.Configuration) throws {
            configuration.storeEncryption = try StoreEncryption.keychain()
        }
    #endif

    func encryptStore(_ configuration: inout ChatClient.Configuration, key: Data) throws {
        configuration.storeEncryption = try StoreEncryption(key: key)
    }

    func rotateStore(
        _ configuration: inout ChatClient.Configuration, from old: Data, to new: Data
    ) async throws -> ChatClient {
        configuration.storeEncryption = try StoreEncryption(key: new, olderKeys: [old])
        let client = try await ChatClient.open(configuration)
        try await client.waitForStoreEncryption()
        // The old key is no longer needed.
        return client
    }

    func decryptStore(_ configuration: inout ChatClient.Configuration, key: Data) throws {
        configuration.storeEncryption = try StoreEncryption(key: nil, olderKeys: [key])
    }

    func openOrRecreate(_ configuration: ChatClient.Configuration) async throws -> ChatClient {
        do {
            return try await ChatClient.open(configuration)
        } catch let error where error.parameter == "storeEncryption" {
            try ChatClient.erase(configuration.store)
            return try await ChatClient.open(configuration)
        }
    }

    @Test("A store can be encrypted, rekeyed, decrypted, and replaced after its key is lost")
    func storeKeys() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "scrollback-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let (old, new) = (Data(repeating: 1, count: 32), Data(repeating: 2, count: 32))
        var configuration = ChatClient.Configuration(
            server: try #require(URL(string: "http://127.0.0.1:9")), user: "alice", store: .directory(folder),
            token: { "none" })
        func draft(in client: ChatClient? = nil) async throws -> String? {
            let opened = if let client { client } else { try await openOrRecreate(configuration) }
            let conversation = opened.conversation(Stage.group)
            let draft = try await conversation.draft()?.text
            try await conversation.setDraft(Draft("unsent"))
            try await opened.waitForStoreEncryption()
            await opened.close()
            return draft
        }
        try encryptStore(&configuration, key: old)
        #expect(try await draft() == nil)
        #expect(try await draft(in: try await rotateStore(&configuration, from: old, to: new)) == "unsent")
        try decryptStore(&configuration, key: new)
        #expect(try await draft() == "unsent")
        try encryptStore(&configuration, key: old)
        #expect(try await draft() == "unsent")
        try encryptStore(&configuration, key: new)
        #expect(try await draft() == nil)
    }

    @Test("A message is decrypted with its key, and reports the missing key without it")
    func reads() async throws {
        let server = try TestServer(users: ["alice", "bob"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        let (old, new) = (
            MessageCipher.Key(id: "2026-05", key: Data(repeating: 1, count: 32)),
            MessageCipher.Key(id: "2026-11", key: Data(repeating: 2, count: 32))
        )
        let alice = try await server.client("alice") { try? rotate(&$0, from: old, to: new) }
        let sent = try await alice.conversation(Stage.group).send(.text("hello")).waitUntilSent()
        var shown: [String] = []
        for keys in [[new], [old]] {
            let cipher = try MessageCipher(keys: keys)
            let bob = try await server.client("bob") { $0.cipher = cipher }
            for await state in bob.connection where state == .online { break }
            read(message: try await bob.conversation(Stage.group).message(sent.id)) { shown.append($0) }
        }
        #expect(shown.count == 2 && shown[0] == "hello" && shown[1].contains("2026-11"))
        let folder = FileManager.default.temporaryDirectory.appending(path: "scrollback-\(UUID())")
        let address = try #require(URL(string: "http://127.0.0.1:9"))
        let client = try await open(server: address, folder: folder, key: Data(repeating: 3, count: 32))
        await client.close()
        try FileManager.default.removeItem(at: folder)
        await server.close()
    }
}
