import Foundation
import Scrollback
import Testing

/// Whether this run takes its time, and where the real logs are.
enum Run {
    static let isLong = ProcessInfo.processInfo.environment["SCROLLBACK_LONG"] != nil
    private static let isCI = ProcessInfo.processInfo.environment["CI"] != nil

    /// A file of real chat logs, which the project does not ship.
    ///
    /// - Returns: nothing where it is not there and nobody needs it to be: a stranger's machine.
    static func chatLog(_ name: String) throws -> URL? {
        let package = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let folders = [package.deletingLastPathComponent(), package]
        for folder in folders {
            let file = folder.appending(path: "shared/data/chatlogs/\(name)")
            if FileManager.default.fileExists(atPath: file.path) { return file }
        }
        try #require(!isCI, "the chat log \(name) is missing")
        print("skipped: the chat log \(name) is not on this machine")
        return nil
    }
}

/// Clients of a running server.
enum Device {
    /// A connected client with a store in memory, or in a directory.
    static func open(
        _ server: RunningServer, _ user: UserID, store: ChatClient.Configuration.Store = .inMemory
    ) async throws -> ChatClient {
        let client = try await ChatClient.open(
            .init(server: server.url, user: user, store: store, token: { try await server.token(user) }))
        client.connect()
        return client
    }

    /// What the server has of a conversation, oldest first.
    static func everything(in id: ConversationID, of server: RunningServer) async throws -> [Message] {
        let admin = try await ChatClient.open(
            .init(
                server: server.url, user: "admin", store: .inMemory,
                token: { try await server.token("admin", isAdmin: true) }))
        admin.connect()
        var messages: [Message] = []
        for try await message in admin.conversation(id).messages(from: .earliest, source: .remote) {
            messages.append(message)
        }
        await admin.close()
        return messages
    }
}
