import Foundation
import Scrollback

/// Opens clients of a running server.
enum Device {
    /// Opens a client and connects it.
    ///
    /// - Parameters:
    ///   - proxy: The proxy between the client and the server.
    ///   - name: The device ID. By default, the store determines it.
    static func open(
        _ server: RunningServer, _ user: UserID, store: ChatClient.Configuration.Store = .inMemory,
        over proxy: TestProxy? = nil, name: String? = nil, pace: SendPace? = nil
    ) async throws -> ChatClient {
        let client = try await disconnected(server, user, store: store, over: proxy, name: name, pace: pace)
        client.connect()
        return client
    }

    /// Opens a client that does not connect yet.
    static func disconnected(
        _ server: RunningServer, _ user: UserID, store: ChatClient.Configuration.Store = .inMemory,
        over proxy: TestProxy? = nil, name: String? = nil, pace: SendPace? = nil
    ) async throws -> ChatClient {
        var configuration = ChatClient.Configuration(
            server: proxy?.url ?? server.url, user: user, store: store, token: { try await server.token(user) })
        configuration.device = name
        configuration.pace = pace
        return try await ChatClient.open(configuration)
    }

    /// Returns all messages of a conversation on the server, oldest first.
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
