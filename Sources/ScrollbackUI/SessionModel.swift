public import Foundation
public import Observation
public import Scrollback

/// An observable model of sign-in: it opens and closes the client, and follows the client's connection.
@MainActor
@Observable
public final class SessionModel {
    /// The URL of the server, as the user enters it.
    public var server: String
    /// An access token of the user, as the user enters it.
    public var token: String
    /// The client of the signed-in user; `nil` before sign-in and after sign-out.
    public private(set) var client: ChatClient?
    /// The list of the client's conversations; `nil` without a client.
    public private(set) var list: ConversationListModel?
    /// The state of the client's connection; `idle` without a client.
    public private(set) var connection = ConnectionState.idle
    /// Whether ``signIn()`` or ``signOut()`` is in progress.
    public private(set) var isBusy = false
    /// The error of the last failed call; set it to `nil` after you show it.
    public var error: ChatError?

    /// Whether ``signIn()`` has an effect.
    public var canSignIn: Bool { !isBusy && client == nil && !server.isEmpty && !token.isEmpty }

    @ObservationIgnored private let folder: URL?
    @ObservationIgnored private let open: (ChatClient.Configuration) async throws(ChatError) -> ChatClient
    @ObservationIgnored private var following: ModelTask?

    /// Creates a model without a client.
    ///
    /// - Parameters:
    ///   - server: The URL of the server to propose.
    ///   - token: The token to propose.
    ///   - folder: The folder in the app's private container for the stores of all users; `nil` for stores in memory.
    ///   - open: Opens a client with a configuration, which it may change before; it must not connect.
    public init(
        server: String = "", token: String = "", folder: URL?,
        open: @escaping (ChatClient.Configuration) async throws(ChatError) -> ChatClient = {
            (configuration) async throws(ChatError) in try await ChatClient.open(configuration)
        }
    ) {
        self.server = server
        self.token = token
        self.folder = folder
        self.open = open
    }

    /// Opens a client for the user of the token, and connects it.
    ///
    /// The call does not wait for the connection. If the server rejects the token, ``connection`` is
    /// ``ConnectionState/rejected(_:)``.
    public func signIn() async {
        guard canSignIn else { return }
        isBusy = true
        defer { isBusy = false }
        do throws(ChatError) {
            let client = try await open(try configuration())
            client.connect()
            self.client = client
            list = ConversationListModel(client)
            following = ModelTask(of: self, following: client.connection) { model, state in
                if model.connection != state { model.connection = state }
            }
        } catch {
            self.error = error
        }
    }

    /// Signs out, closes the client and deletes the user's data from this device, including unsent messages.
    ///
    /// The client is also closed if the data can't be deleted, and ``error`` is set.
    public func signOut() async {
        guard let client, !isBusy else { return }
        isBusy = true
        defer { isBusy = false }
        following = nil
        do throws(ChatError) {
            try await client.signOut(erasing: true)
        } catch {
            self.error = error
            await client.close()
        }
        self.client = nil
        list = nil
        connection = .idle
        token = ""
    }

    private func configuration() throws(ChatError) -> ChatClient.Configuration {
        let token = token.trimmingCharacters(in: .whitespacesAndNewlines)
        // One server has one store, with and without a slash at the end.
        let address = server.trimmingCharacters(in: .whitespacesAndNewlines.union(CharacterSet(charactersIn: "/")))
        guard let server = URL(string: address) else {
            throw .invalidParameter("server", "must be a URL, for example https://chat.example.com")
        }
        let user = try Self.user(of: token)
        let store = folder.map { ChatClient.Configuration.Store.directory(Self.store(of: user, on: server, in: $0)) }
        return .init(server: server, user: user, store: store ?? .inMemory) { token }
    }

    /// Returns the user whom a token names in its claim `sub`; the server checks the token.
    private static func user(of token: String) throws(ChatError) -> UserID {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let data = Data(base64URL: String(parts[1])),
            let claims = try? RawJSON(String(decoding: data, as: UTF8.self)), let user = claims.string(at: "sub")
        else {
            throw ChatError(
                .invalidToken, "This is not an access token. A token is a JWT with the user as its subject.",
                parameter: "token")
        }
        return try UserID(user, parameter: "token")
    }

    /// Returns a directory of its own for each server and user.
    private static func store(of user: UserID, on server: URL, in folder: URL) -> URL {
        // Hexadecimal digits stay distinct on file systems that ignore case. A name has at most 255 bytes there.
        var digits = "\(server.absoluteString) \(user)".utf8.hexadecimal[...]
        var store = folder
        while !digits.isEmpty {
            store.append(component: String(digits.prefix(200)))
            digits = digits.dropFirst(200)
        }
        return store.appending(component: "store")
    }
}
