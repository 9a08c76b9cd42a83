import Foundation
import Scrollback

extension ConnectionOptions {
    /// An SDK client for a user, with its store in a directory or in memory.
    func client(for user: UserID, store: String?) async throws -> ChatClient {
        var configuration = ChatClient.Configuration(
            server: try address, user: user,
            store: store.map { .directory(URL(filePath: $0, directoryHint: .isDirectory)) } ?? .inMemory,
            token: { try await token(for: user) })
        configuration.cipher = try CipherKeys.cipher()
        configuration.device = store == nil ? "cli-\(UUID().uuidString)" : nil
        return try await ChatClient.open(configuration)
    }

    /// Encrypts what a user says and opens what they read, where a command asks the server without a client.
    func sealing(for user: UserID) throws -> MessageSealing {
        MessageSealing(user: user, cipher: try CipherKeys.cipher())
    }
}

extension ChatClient {
    /// Says on standard error how the client stands with its server, until the task is cancelled or the client closed.
    func reportConnection() -> Task<Void, Never> {
        Task {
            for await state in connection {
                switch state {
                case .online: Output.error("— online —")
                case .waiting: Output.error("— the server can't be reached, trying again —")
                case .rejected(let error): Output.error("— \(error.message) —")
                case .idle, .connecting: break
                }
            }
        }
    }

    /// Connects, and waits until it is online.
    ///
    /// - Throws: `unreachable` when the first attempt finds no server; why the server rejects this client.
    func connected() async throws(ChatError) {
        connect()
        for await state in connection {
            switch state {
            case .online: return
            case .waiting: throw ChatError(.unreachable, "the server can't be reached")
            case .rejected(let error): throw error
            case .idle, .connecting: continue
            }
        }
    }
}
