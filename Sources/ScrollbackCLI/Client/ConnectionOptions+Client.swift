import Foundation
import Scrollback

extension ConnectionOptions {
    /// Opens an SDK client for a user.
    ///
    /// Its store is in `store`, or in memory if `store` is `nil`.
    ///
    /// - Parameter connects: Whether the client connects to the server. Its token is then made once before, because a
    ///   client without a token tries again and again.
    func client(for user: UserID, store: String?, connects: Bool = true) async throws -> ChatClient {
        if connects { try await checkToken(for: user) }
        var configuration = ChatClient.Configuration(
            server: try address, user: user,
            store: store.map { .directory(URL(filePath: $0, directoryHint: .isDirectory)) } ?? .inMemory,
            token: { try await token(for: user) })
        configuration.cipher = try CipherKeys.cipher()
        configuration.device = store == nil ? "cli-\(UUID().uuidString)" : nil
        return try await ChatClient.open(configuration)
    }

    /// Opens an SDK client for a user, and closes it before returning or throwing.
    ///
    /// The parameters are those of ``client(for:store:connects:)``. A client with a store in memory that is not closed
    /// leaves copies of its files in the directory for temporary files.
    func withClient<Value>(
        for user: UserID, store: String?, connects: Bool = true, _ body: (ChatClient) async throws -> Value
    ) async throws -> Value {
        let client = try await self.client(for: user, store: store, connects: connects)
        let value: Value
        do {
            value = try await body(client)
        } catch {
            await client.close()
            throw error
        }
        await client.close()
        return value
    }

    /// Checks that a token can be made for a user.
    ///
    /// A server that can't be reached is no error: the client waits for it.
    private func checkToken(for user: UserID) async throws {
        do {
            _ = try await token(for: user)
        } catch let error as ChatError where error.isTemporary {
            return
        }
    }

    /// Returns the message encryption for a user, for commands that send requests without an SDK client.
    func messageEncryption(for user: UserID) throws -> MessageEncryption {
        MessageEncryption(user: user, cipher: try CipherKeys.cipher())
    }
}

extension ChatClient {
    /// Prints changes of the connection state to standard error, until the task is cancelled or the client is closed.
    func reportConnection() -> Task<Void, Never> {
        Task {
            for await state in connection {
                switch state {
                case .online: Output.error("— online —")
                case .waiting: Output.error("— server unreachable, retrying —")
                case .rejected(let error): Output.error("— \(error.message) —")
                case .idle, .connecting: break
                }
            }
        }
    }

    /// Connects and waits until the client is online.
    ///
    /// - Throws: `unreachable` if the first attempt fails, or the reason why the server rejects the client.
    func waitUntilOnline() async throws(ChatError) {
        connect()
        for await state in connection {
            switch state {
            case .online: return
            case .waiting: throw ChatError(.unreachable, "The server can't be reached.")
            case .rejected(let error): throw error
            case .idle, .connecting: continue
            }
        }
    }
}
