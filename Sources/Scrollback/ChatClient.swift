public import Foundation
import Logging
import NIOSSL
public import ScrollbackModel
import ScrollbackSync
import ScrollbackWire
import SQLiteSupport

/// A chat client for one user on one device, which works offline first.
///
/// The client provides conversations, history, sending and unread counts. It owns its local store exclusively, and
/// works with or without a connection. Several clients in one process share no state.
public final class ChatClient: Sendable {
    /// The settings that a client is opened with.
    public struct Configuration: Sendable {
        /// The location of the client's local store.
        public enum Store: Hashable, Sendable {
            /// A directory in the app's private container, one for each user.
            case directory(URL)
            /// In memory only: the data is lost when the client is closed.
            case inMemory
        }

        /// The URL of the server: `http` or `https`, a host, and optionally a port and a path, without `/v1`.
        public var server: URL
        /// The user of this client, who must be the user of the ``token``.
        public var user: UserID
        /// The location of the local store.
        ///
        /// A directory belongs to one user, and only one client can have it open at a time.
        public var store: Store
        /// The ID of this device among the user's devices.
        ///
        /// A second connection with the same device ID replaces the first one. By default the client generates an ID
        /// when it creates the store, and keeps it there.
        public var device: String?
        /// A PEM file to trust instead of the system's certificates.
        public var trustedCertificate: URL?
        /// The number of events that are buffered for each consumer of ``ChatClient/events``.
        ///
        /// When the buffer is full, the client drops further events and reports their number with
        /// ``ClientEvent/missed(_:)``.
        public var eventBuffer = 1000
        /// Returns an access token.
        ///
        /// The client calls it for each connection, and again after the token expires.
        ///
        /// The client does not give up after an error: it logs the error and calls the closure again later. Requests
        /// fail with `unreachable` until then, and have the error as their `cause`. If the error is a `ChatError` with
        /// a `retryAfter`, the client waits that long.
        ///
        /// Spaces and newlines at the ends of the token are ignored.
        public var token: @Sendable () async throws -> String
        /// The rate limit for sending messages; `nil` for no limit.
        ///
        /// By default the client sends 5 messages a second and delays the rest.
        public var pace: SendPace? = .standard
        /// Whether the client shares this user's presence with other users.
        ///
        /// The user is shown as online while a client that shares presence is connected and in the foreground. The
        /// server must have presence turned on.
        public var sharesPresence = false
        /// Whether read positions and unread markers sync across the user's devices.
        ///
        /// If `false`, this device keeps its own read positions and does not send them. Other members then get no read
        /// receipts and no delivery receipts from it, and a new device starts with everything unread. The device's
        /// unread counts are exact where it has stored the messages after its read position, and approximate otherwise.
        public var syncsReadState = true
        /// Whether drafts sync across the user's devices.
        ///
        /// If `false`, the drafts of this device stay on it, and it does not get those of other devices.
        public var syncsDrafts = true
        /// The inbox through which the app's notification extension passes pushes to the client; `nil` for none.
        public var pushInbox: PushInbox?
        /// The end-to-end encryption of messages, with keys that the server does not have; `nil` for none.
        ///
        /// Without a cipher, the client sends messages unencrypted and can't read encrypted ones.
        public var cipher: MessageCipher?
        /// The encryption of the local store, with keys that the app keeps elsewhere; `nil` for none.
        ///
        /// Without it, the data relies on the protection of files by the operating system.
        public var storeEncryption: StoreEncryption?
        /// How the client prepares images, which files it sends, and how large its file cache may grow.
        public var media = MediaSettings()
        package var transport: (any Transport)?
        package var mediaTransport: (any MediaTransport)?
        package var uploadChunkSize = Uploads.chunkSize
        /// The timeout of the client's own requests.
        ///
        /// ``RequestOptions`` have the timeout of the app's requests.
        package var requestTimeout = RequestOptions.standard.timeout
        package var clock: @Sendable () -> Date = { Date() }

        /// Creates a configuration; all other properties have their default values.
        public init(
            server: URL, user: UserID, store: Store, token: @escaping @Sendable () async throws -> String
        ) {
            self.server = server
            self.user = user
            self.store = store
            self.token = token
        }
    }

    package let core: ClientCore
    private let configuration: Configuration
    #if canImport(Darwin)
        private let systemObserver: SystemObserver
    #endif

    private init(core: ClientCore, configuration: Configuration) {
        self.core = core
        self.configuration = configuration
        #if canImport(Darwin)
            systemObserver = SystemObserver(
                networkBecameAvailable: { [weak core] in _ = core?.mailbox.post(.reconnectNow) },
                isActive: { [weak core] isActive in _ = core?.mailbox.post(.setActive(isActive)) })
        #endif
    }

    /// Opens a client and its local store.
    ///
    /// The client does not connect until you call ``connect()``.
    ///
    /// - Throws: `local-storage` if the store can't be opened, belongs to another user, or was written by a newer
    ///   version. `invalid-parameter` if the server's URL is invalid or has a query, the device is not an `Identifier`,
    ///   or ``Configuration/trustedCertificate`` has no certificates. `invalid-parameter` also if
    ///   ``Configuration/storeEncryption`` lacks a key that the store is encrypted with.
    public static func open(_ configuration: Configuration) async throws(ChatError) -> ChatClient {
        var configuration = configuration
        configuration.server = try address(configuration.server)
        if let certificate = configuration.trustedCertificate { try TLSConfiguration.check(trusting: certificate) }
        let media = try configuration.media.validated()
        let pace = try configuration.pace?.validated()
        let named = try configuration.device.map { (text) throws(ChatError) in
            try Identifier(text, parameter: "device").text
        }
        let directory: URL? = if case .directory(let url) = configuration.store { url } else { nil }
        let store = try LocalStore(
            directory: directory, user: configuration.user, eventCapacity: configuration.eventBuffer,
            cipher: configuration.cipher, keys: configuration.storeEncryption?.keys)
        try await store.write(notifiesRecents: false) { [cipher = configuration.cipher] in try $0.recordKeys(of: cipher)
        }
        let device: String
        if let named {
            device = named
        } else {
            device = try await store.write { try $0.deviceID() }
        }
        let core = ClientCore(
            user: configuration.user, store: store, server: configuration.server, device: device,
            transport: configuration.transport ?? Self.transport(configuration),
            token: configuration.token, clock: configuration.clock, logger: Logger(label: "scrollback.client"),
            eventCapacity: configuration.eventBuffer, pace: pace,
            media: configuration.mediaTransport ?? Self.mediaTransport(configuration), mediaSettings: media,
            uploadChunkSize: configuration.uploadChunkSize, requestTimeout: configuration.requestTimeout,
            sharesPresence: configuration.sharesPresence,
            syncsReadState: configuration.syncsReadState, syncsDrafts: configuration.syncsDrafts,
            pushInbox: configuration.pushInbox)
        try await core.start()
        return ChatClient(core: core, configuration: configuration)
    }

    /// Returns the URL of a server with its scheme in lowercase, as the transports compare it.
    private static func address(_ server: URL) throws(ChatError) -> URL {
        let scheme = server.scheme?.lowercased()
        guard var parts = URLComponents(url: server, resolvingAgainstBaseURL: true),
            ["http", "https"].contains(scheme), server.host()?.isEmpty == false,
            parts.query == nil, parts.fragment == nil
        else {
            throw .invalidParameter(
                "server", "must be an http:// or https:// URL with a host and without a query, is \(server)")
        }
        parts.scheme = scheme
        return parts.url ?? server
    }

    private static func transport(_ configuration: Configuration) -> any Transport {
        #if canImport(Darwin)
            // URLSession follows the system's network and proxy settings. Only the NIO transport can trust a custom
            // certificate.
            if configuration.trustedCertificate == nil { return URLSessionTransport() }
        #endif
        return NIOTransport(trusting: configuration.trustedCertificate)
    }

    private static func mediaTransport(_ configuration: Configuration) -> any MediaTransport {
        #if canImport(Darwin)
            if configuration.trustedCertificate == nil {
                return HTTPMediaTransport(server: configuration.server, http: URLSessionHTTPTransport())
            }
        #endif
        return HTTPMediaTransport(
            server: configuration.server,
            http: AsyncHTTPClientTransport(trusting: configuration.trustedCertificate))
    }

    /// The user of this client.
    public var user: UserID { core.user }

    // MARK: Connection

    /// Connects to the server, and reconnects automatically from then on.
    ///
    /// The call returns immediately.
    public func connect() {
        core.mailbox.post(.connect)
    }

    /// The state of the connection to the server, and its changes.
    public var connection: StateSequence<ConnectionState> { core.connection.sequence }

    /// Sets whether the app is in the foreground.
    ///
    /// A client that becomes active reconnects immediately.
    ///
    /// On iOS, tvOS and visionOS the client does this automatically.
    public func setActive(_ isActive: Bool) async {
        core.mailbox.post(.setActive(isActive))
    }

    /// Reconnects without waiting for the backoff to end, for example because the network is back.
    ///
    /// On Apple platforms the client observes the network itself. On all platforms, requests and queued messages also
    /// trigger a reconnect.
    public func retryConnection() {
        core.mailbox.post(.reconnectNow)
    }

    /// A stream of all events, for bots and tests.
    ///
    /// A consumer that is too slow receives ``ClientEvent/missed(_:)`` with the number of dropped events.
    public var events: AsyncStream<ClientEvent> { core.events.events() }

    /// Closes the connection, the store, and all running tasks.
    ///
    /// Unsent messages stay in the outbox and are sent when a client opens the store again and connects.
    public func close() async {
        await core.close()
        try? core.store.close()
    }

    /// A message that was unsent at sign-out.
    public struct Unsent: Sendable {
        /// The conversation that the message was queued for.
        public let conversation: ConversationID
        /// The ID of the queued message.
        public let id: MessageID
        /// The content of the message.
        ///
        /// Content that was encrypted with a key this client doesn't have is returned in its encrypted form.
        public let content: MessageContent
    }

    /// The result of signing out.
    public struct SignOutReport: Sendable {
        /// The messages that were unsent.
        public let unsent: [Unsent]
        /// The reason why the device's push registration could not be removed from the server; `nil` if it was removed
        /// or never existed.
        ///
        /// If it is set, the server continues to push this user's messages to the device. This ends when another user
        /// registers the device or the push service rejects it. The app should unregister from the system, for example
        /// with `UIApplication.unregisterForRemoteNotifications()`. A store that was not erased removes the
        /// registration the next time it is opened and connected.
        public let pushError: ChatError?
    }

    /// Signs out: unregisters the device from pushes and closes the client.
    ///
    /// The server has three seconds to confirm that pushes to this device end.
    ///
    /// - Parameter erasing: Whether to delete the store's files and the user's pushes in the push inbox.
    /// - Returns: The messages that were unsent when the client closed, and the reason if the device could not be
    ///   unregistered.
    /// - Throws: `local-storage` if the store can't be read or its files can't be deleted. If the store can't be read
    ///   at the beginning, the client stays open.
    @discardableResult
    public func signOut(erasing: Bool) async throws(ChatError) -> SignOutReport {
        try await signOut(erasing: erasing, within: .seconds(3))
    }

    /// Signs out, and gives the server a time to remove the push registration.
    package func signOut(erasing: Bool, within time: Duration) async throws(ChatError) -> SignOutReport {
        var unsent = try await core.store.read { try Self.unsent($0) }
        let pushError = await core.unregisterPush(within: time)
        await core.close()
        // The client sent messages until its loop ended, and the store accepts messages until it is closed.
        do throws(ChatError) {
            unsent = try await core.store.close { try Self.unsent($0) }
        } catch  where error.code == .closed {
            // Another call has closed the store.
        }
        if erasing {
            core.clearPushInbox()
            try Self.erase(configuration.store)
        }
        return SignOutReport(unsent: unsent, pushError: pushError)
    }

    private static func unsent(_ reader: LocalReader) throws -> [Unsent] {
        try reader.outbox().compactMap { item -> Unsent? in
            guard let message = try reader.pending(item.id) else { return nil }
            return Unsent(conversation: message.conversation, id: item.id, content: message.submission.content)
        }
    }

    /// Deletes a store that can't be opened, because its key is lost or a newer version wrote it.
    ///
    /// Messages that were sent are on the server, and a new store loads them again. Unsent messages, drafts and local
    /// extensions are lost.
    ///
    /// - Throws: `local-storage` if a client has the store open or its files can't be deleted.
    public static func erase(_ store: Configuration.Store) throws(ChatError) {
        guard case .directory(let directory) = store else { return }
        do {
            guard FileManager.default.fileExists(atPath: directory.path) else { return }
            let lock = try DirectoryLock(directory, errorCode: .localStorage, "close the client that has it open")
            defer { lock.release() }
            try LocalStore.erase(directory)
        } catch let error as ChatError {
            throw error
        } catch {
            throw ChatError(.localStorage, "The store's files can't be deleted.", cause: error)
        }
    }

    /// Waits until the outbox is empty or contains only failed messages.
    public func waitForOutbox() async {
        for await _ in core.changes.changes(of: .recents) {
            let items = try? await core.retryingReads { () async throws(ChatError) in
                try await core.store.read { try $0.outbox() }
            }
            guard let items, items.contains(where: { !$0.isFailed }) else { return }
        }
    }

    /// Waits until the whole store is encrypted with the newest key of ``Configuration/storeEncryption``.
    ///
    /// After that the store opens without the older keys.
    ///
    /// - Throws: `closed` if the client is closed first, or `local-storage`. The next client that opens the store
    ///   continues the encryption.
    public func waitForStoreEncryption() async throws(ChatError) {
        try await core.waitForStoreEncryption()
    }

    // MARK: Conversations

    /// Returns a handle for a conversation, which need not exist yet.
    ///
    /// - Parameter id: The conversation. A direct conversation can be named by its peer or by both users.
    public func conversation(_ id: ConversationID) -> Conversation {
        Conversation(id: core.log(of: id), core: core)
    }

    /// The list of recent conversations and the unread counts.
    public var recents: Recents { Recents(core: core) }

    /// Checks the integrity of the local store.
    ///
    /// - Returns: The problems found; empty if the messages, gaps and deleted ranges of every conversation account for
    ///   its whole log.
    /// - Throws: `local-storage`.
    public func verifyIntegrity() async throws(ChatError) -> [String] {
        try await core.store.read { try $0.violations() }
    }
}

extension ChatClient {
    /// The number of messages in the outbox that have not failed.
    package func pendingCount() async throws(ChatError) -> Int {
        try await core.store.read { try $0.outbox().count { !$0.isFailed } }
    }
}
