public import Foundation
import Logging
public import ScrollbackModel
import ScrollbackSync
import ScrollbackWire
import StoreFiles

/// One user's chat on one device: conversations, history, sending, unread counts; offline first.
///
/// A client is opened over a store that belongs to it alone, and works whether or not it is connected. Several clients in
/// one process share nothing.
public final class ChatClient: Sendable {
    /// How a client is opened.
    public struct Configuration: Sendable {
        /// Where a client keeps what it knows.
        public enum Store: Hashable, Sendable {
            /// In a directory of the app's private container, one for each user.
            case directory(URL)
            /// Nowhere: gone with the client.
            case inMemory
        }

        /// Where the server is: `http` or `https`, a host, perhaps a port and a path, without `/v1`.
        public var server: URL
        /// Whose client it is: the user of the ``token``.
        public var user: UserID
        /// Where it keeps what it knows; a directory belongs to one user, and one client has it open at a time.
        public var store: Store
        /// Names this device among the user's; a second connection of the same device replaces the first.
        ///
        /// By default a name is made with the store and kept there.
        public var device: String?
        /// A PEM file to trust instead of the system's certificates.
        public var trustedCertificate: URL?
        /// How many events wait for a loop over ``ChatClient/events`` before some are dropped and reported as missed.
        public var eventBuffer = 1000
        /// Asked for a token at each connection, and again when it expires.
        ///
        /// An error is no reason to give up: the client asks again later, after the error's `retryAfter` if it is a
        /// `ChatError` that has one.
        public var token: @Sendable () async throws -> String
        /// How fast messages are sent: 5 a second, and what is above that waits (row 79); nothing for as fast as can be.
        public var pace: SendPace? = .standard
        /// Whether others may be told that this user is there, as far as the operator has switched presence on.
        ///
        /// They are while a client that shares it is connected and in the foreground.
        public var sharesPresence = false
        /// Whether what is read on this device, or marked as unread, is so on every device of the user (row 216).
        ///
        /// Off, each device that has it off counts by itself: nobody hears what is read there, so there are no read receipts
        /// of it either, and a new device has read nothing. Its counts are right where it has the messages above what it
        /// read, as it does of all that reaches it, and else near: the server does not know how far it read.
        public var syncsReadState = true
        /// Where the app's notification extension tells of pushes; by default it does not.
        public var pushInbox: PushInbox?
        /// Encrypts what this user says, and reads what others encrypted, with keys that the server has not; without one
        /// everything is sent as it is, and what came encrypted can't be read.
        public var cipher: MessageCipher?
        /// Encrypts what is kept on this device, with keys that the app keeps apart from it; by default the system's own
        /// protection of the app's files is relied on.
        public var storeEncryption: StoreEncryption?
        /// How pictures are made, what is sent, and how much is kept.
        public var media = MediaSettings()
        package var transport: (any Transport)?
        package var mediaTransport: (any MediaTransport)?
        package var uploadPiece = Uploads.piece
        package var clock: @Sendable () -> Date = { Date() }

        /// A configuration whose other properties have the values given here as defaults.
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
        private let signs: SystemSigns
    #endif

    private init(core: ClientCore, configuration: Configuration) {
        self.core = core
        self.configuration = configuration
        #if canImport(Darwin)
            signs = SystemSigns(
                networkIsBack: { [weak core] in _ = core?.mailbox.post(.kick) },
                isActive: { [weak core] isActive in _ = core?.mailbox.post(.setActive(isActive)) })
        #endif
    }

    /// Opens a client over its store.
    ///
    /// Nothing is sent before ``connect()``.
    ///
    /// - Throws: `local-storage` when the store can't be opened, is another user's, or a newer version's;
    ///   `invalid-parameter` when the server's address is none, the device's name is not an `Identifier`, or the store is
    ///   encrypted with a key that ``Configuration/storeEncryption`` has not.
    public static func open(_ configuration: Configuration) async throws(ChatError) -> ChatClient {
        guard ["http", "https"].contains(configuration.server.scheme), configuration.server.host()?.isEmpty == false
        else {
            throw .invalidParameter("server", "must be http:// or https:// and a host, is \(configuration.server)")
        }
        let media = try configuration.media.validated()
        let pace = try configuration.pace?.validated()
        let directory: URL? = if case .directory(let url) = configuration.store { url } else { nil }
        let store = try LocalStore(
            directory: directory, user: configuration.user, eventCapacity: configuration.eventBuffer,
            cipher: configuration.cipher, keys: configuration.storeEncryption?.keys)
        try await store.write(tellsRecents: false) { [cipher = configuration.cipher] in try $0.noteKeys(of: cipher) }
        let device: String
        if let named = configuration.device {
            device = try Identifier(named, parameter: "device").text
        } else {
            device = try await store.write { try $0.deviceName() }
        }
        let core = ClientCore(
            user: configuration.user, store: store, server: configuration.server, device: device,
            transport: configuration.transport ?? Self.transport(configuration),
            token: configuration.token, clock: configuration.clock, logger: Logger(label: "scrollback.client"),
            eventCapacity: configuration.eventBuffer, pace: pace,
            media: configuration.mediaTransport ?? Self.mediaTransport(configuration), mediaSettings: media,
            uploadPiece: configuration.uploadPiece, sharesPresence: configuration.sharesPresence,
            syncsReadState: configuration.syncsReadState, pushInbox: configuration.pushInbox)
        try await core.start()
        return ChatClient(core: core, configuration: configuration)
    }

    private static func transport(_ configuration: Configuration) -> any Transport {
        #if canImport(Darwin)
            // The system knows its networks and proxies. A certificate of one's own is NIO's to check.
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

    /// Whose client this is.
    public var user: UserID { core.user }

    // MARK: Connection

    /// Connects, and from then on reconnects by itself.
    ///
    /// Returns at once.
    public func connect() {
        core.mailbox.post(.connect)
    }

    /// How the client stands with its server.
    public var connection: StateSequence<ConnectionState> { core.connection.sequence }

    /// Tells the server whether the app is in the foreground; a client that comes to the foreground reconnects at once.
    ///
    /// On iOS, tvOS and visionOS the client does this by itself.
    public func setActive(_ isActive: Bool) async {
        core.mailbox.post(.setActive(isActive))
    }

    /// Tells the client that the network may be back, so that it need not wait any longer.
    ///
    /// On Apple platforms the system tells it, and everywhere whatever is asked of the server or is to be sent does.
    public func retryConnection() {
        core.mailbox.post(.kick)
    }

    /// Everything that happens, for bots and tests; a loop that is too slow is told how much it missed.
    public var events: AsyncStream<ClientEvent> { core.events.events() }

    /// Ends the connection and everything that runs.
    ///
    /// What is unsent stays, for the next time.
    public func close() async {
        await core.close()
        try? core.store.close()
    }

    /// What was still to be sent at sign-out.
    public struct Unsent: Sendable {
        /// Where it was to be sent to.
        public let conversation: ConversationID
        /// The id it was queued under.
        public let id: MessageID
        /// What it says; what was encrypted with a key that this client was not given again is as it would have been sent.
        public let content: MessageContent
    }

    /// What came of signing out.
    public struct SignOutReport: Sendable {
        /// What was still to be sent.
        public let unsent: [Unsent]
        /// Why the server could not be told to push nothing to this device any more, if it was registered for pushes.
        ///
        /// It goes on pushing what is for this user then, until somebody else registers the device or the service no longer
        /// knows it. The app should have the system give up the token, as with
        /// `UIApplication.unregisterForRemoteNotifications()`. A store that was not erased tells the server when it is
        /// opened and connected again.
        public let pushError: ChatError?
    }

    /// Closes the client for good.
    ///
    /// Pushes to this device end: the server is told, for which it has three seconds.
    ///
    /// - Parameter erasing: whether the store's files go too, and what waits in the inbox of pushes.
    /// - Returns: what was unsent, and whether pushes have ended.
    /// - Throws: `local-storage` when the store can't be read, and then the client stays open, or when its files can't
    ///   be removed.
    @discardableResult
    public func signOut(erasing: Bool) async throws(ChatError) -> SignOutReport {
        let unsent = try await core.store.read { reader in
            try reader.outbox().compactMap { item -> Unsent? in
                guard let message = try reader.pending(item.id) else { return nil }
                return Unsent(conversation: message.conversation, id: item.id, content: message.submission.content)
            }
        }
        let pushError = await core.endPush()
        await close()
        if erasing { core.emptyPushInbox() }
        if erasing, case .directory(let directory) = configuration.store {
            do {
                try LocalStore.erase(directory)
            } catch {
                throw ChatError(.localStorage, "the store's files can't be removed", cause: error)
            }
        }
        return SignOutReport(unsent: unsent, pushError: pushError)
    }

    /// Removes a store that can't be opened: its key is lost, or it is a newer version's.
    ///
    /// What was sent is on the server and is loaded anew; what was still to be sent, drafts and local extensions are gone.
    ///
    /// - Throws: `local-storage` when a client has it open, or its files can't be removed.
    public static func erase(_ store: Configuration.Store) throws(ChatError) {
        guard case .directory(let directory) = store else { return }
        do {
            guard FileManager.default.fileExists(atPath: directory.path) else { return }
            let lock = try DirectoryLock(directory, else: .localStorage, "close the client that has it open")
            defer { lock.release() }
            try LocalStore.erase(directory)
        } catch let error as ChatError {
            throw error
        } catch {
            throw ChatError(.localStorage, "the store's files can't be removed", cause: error)
        }
    }

    /// Waits until nothing is left to be sent, or what is left needs somebody.
    public func flushed() async {
        for await _ in core.changes.changes(of: .recents) {
            let items = try? await core.store.read { try $0.outbox() }
            guard let items, items.contains(where: { !$0.isFailed }) else { return }
        }
    }

    /// Waits until all that is stored is encrypted with the newest key of ``Configuration/storeEncryption``: from then on it is
    /// opened without the older ones.
    ///
    /// - Throws: `closed` when the client is closed before, and `local-storage`; the next client goes on.
    public func storeEncrypted() async throws(ChatError) {
        try await core.storeEncrypted()
    }

    // MARK: Conversations

    /// A conversation; it need not exist yet.
    public func conversation(_ id: ConversationID) -> Conversation {
        Conversation(id: id.log, core: core)
    }

    /// The list of recent conversations and the unread counts.
    public var recents: Recents { Recents(core: core) }

    /// What is wrong with the store: nothing, as long as every message, gap and void of every conversation is accounted
    /// for.
    public func verifyIntegrity() async throws(ChatError) -> [String] {
        try await core.store.read { try $0.violations() }
    }
}

extension ChatClient {
    /// How many messages are to be sent and were not refused.
    package func pendingCount() async throws(ChatError) -> Int {
        try await core.store.read { try $0.outbox().count { !$0.isFailed } }
    }
}
