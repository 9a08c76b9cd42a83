import Foundation
import Logging
package import ScrollbackModel
import ScrollbackSync
import ScrollbackWire
import Synchronization

/// The shared state of one client.
///
/// A single loop, the ``Driver``, processes all inputs in order. It passes them to the state machines of
/// `ScrollbackSync`, stores the results and carries out the resulting actions. Only the driver uses the connection.
package final class ClientCore: Sendable {
    let user: UserID
    package let store: LocalStore
    let server: URL
    let device: String
    let transport: any Transport
    let token: @Sendable () async throws -> String
    let clock: @Sendable () -> Date
    let logger: Logger

    let connection = StateSource<ConnectionState>(.idle)
    let changes = ChangeCenter()
    /// The users who are typing, by conversation.
    let typing = StateSources<[UserID]>([])
    /// The known presence of watched users.
    let presence = StateSource<[UserID: Presence]>([:])
    let push = StateSource<Push.State>()
    let subscriptions = StateSources<Conversation.Subscription.State>(.waiting)
    let events: EventCenter<ClientEvent>
    let ownProfile = OwnProfile()
    let mailbox = Mailbox<Input>()
    package let search: SearchIndexer
    let pace: SendPace?
    let media: any MediaTransport
    let mediaSettings: MediaSettings
    let files: LocalFiles
    let attachmentProcessor: AttachmentProcessor
    package let uploads = Uploads()
    let downloads = Downloads()
    /// The size of an upload request's body, in bytes.
    let uploadChunkSize: Int
    /// The timeout of the client's own requests, such as those of the outbox.
    let requestTimeout: Duration
    let sharesPresence: Bool
    let syncsReadState: Bool
    let syncsDrafts: Bool
    let pushInbox: PushInbox?
    /// The last token that the token provider returned, until the server rejects it.
    let currentToken = Mutex<String?>(nil)
    private let loop = Mutex<Task<Void, Never>?>(nil)
    /// The task that encrypts existing data with the newest key.
    private let encryptionTask = Mutex<Task<Result<Void, ChatError>, Never>?>(nil)

    enum Input: Sendable {
        case connect
        case close
        /// The network may be back, or a caller is waiting for a request.
        case reconnectNow
        case token(generation: Int, Result<String, ChatError>)
        case opened(generation: Int, any TransportConnection)
        case openFailed(generation: Int, ChatError)
        case transport(generation: Int, TransportEvent)
        case heartbeat(generation: Int)
        /// A timer ran, which was due at this time.
        case tick(due: Date)
        case request(any FrameRequest, timeout: Duration, RequestCaller, Reply<[UInt8]>)
        /// The task that waits for a request was cancelled.
        case requestCancelled(RequestCaller)
        case requestTimedOut(ref: Int64, generation: Int)
        /// A request waited for the connection for the whole time of its timeout.
        case waitTimedOut(Int)
        /// An item was added to the outbox.
        case queued(OutboxItem)
        /// The upload of a message's files ended.
        case uploaded(MessageID, Result<Void, ChatError>)
        /// Retries a message; the reply states whether it is in the outbox.
        case retry(MessageID, Reply<Bool>)
        case cancel(MessageID, Reply<Outbox.Cancellation>)
        /// A user setting changed and must be sent, for example a read position or a mute.
        case settingChanged
        /// The draft of a conversation changed and must be sent.
        case draftChanged
        /// An applied update shows that the local log is missing messages or changes.
        case behind(LogPosition)
        /// The heads of these conversations must be fetched.
        case fetchHeads([ConversationID])
        /// This device has stored messages that it must report as delivered.
        case reportDelivered
        /// The heads and the cursor of a sync window must be stored.
        case storeHeads([ConversationHead], String, generation: Int)
        /// Another sync pass must follow, because events were dropped.
        case restartSync
        case setActive(Bool)
        case subscribe([ConversationID], isOn: Bool)
        case typing(ConversationID, Bool)
        case watch(Set<UserID>, isOn: Bool)
        /// Sets the device's push registration, or removes it if it is `nil`.
        case setPush(PushDevice?, Reply<Void>)
        /// Pushes announced messages that are not stored on this device.
        case pushed
    }

    typealias Reply<Answer: Sendable> = @Sendable (Result<Answer, ChatError>) -> Void

    init(
        user: UserID, store: LocalStore, server: URL, device: String, transport: any Transport,
        token: @escaping @Sendable () async throws -> String, clock: @escaping @Sendable () -> Date, logger: Logger,
        eventCapacity: Int, pace: SendPace?, media: any MediaTransport, mediaSettings: MediaSettings,
        uploadChunkSize: Int, requestTimeout: Duration,
        sharesPresence: Bool = false, syncsReadState: Bool = true, syncsDrafts: Bool = true,
        pushInbox: PushInbox? = nil
    ) {
        self.user = user
        self.store = store
        self.server = server
        self.device = device
        self.transport = transport
        // Files and command lines end texts with a newline, which no token contains and no HTTP header can have.
        self.token = { try await token().trimmingCharacters(in: .whitespacesAndNewlines) }
        self.clock = clock
        self.logger = logger
        events = EventCenter(capacity: eventCapacity) { .missed($0) }
        search = SearchIndexer(store: store, logger: logger)
        self.pace = pace
        self.media = media
        self.mediaSettings = mediaSettings
        self.uploadChunkSize = uploadChunkSize
        self.requestTimeout = requestTimeout
        self.sharesPresence = sharesPresence
        self.syncsReadState = syncsReadState
        self.syncsDrafts = syncsDrafts
        self.pushInbox = pushInbox
        files = store.files
        attachmentProcessor = AttachmentProcessor(files: store.files, settings: mediaSettings)
    }

    /// Starts the loop.
    ///
    /// Messages that were in flight when the process ended are queued again. Refused changes are deleted when they are
    /// too old to be sent again, because no view shows them.
    func start() async throws(ChatError) {
        let oldest = clock().addingTimeInterval(-Outbox.lifetime)
        let (items, hasCompletedSync, known) = try await store.write(notifiesRecents: false) { writer in
            try writer.removeFailedChanges(queuedBefore: oldest)
            let reader = writer.reader
            return (try reader.outbox(), try reader.hasCompletedSync(), try reader.pushDevice())
        }
        if hasCompletedSync { store.recentsEvents.sendInitial(.loadedAll) }
        let registration = PushRegistration(
            of: try Identifier(device, parameter: "device"), wanted: known.wanted, isAcknowledged: known.isAcknowledged)
        push.set(registration.state)
        let task = Task {
            await Driver(core: self, outbox: Outbox(restoring: items, pace: pace), push: registration).run()
        }
        loop.withLock { $0 = task }
        await processPushInbox()
        await cleanUpFiles()
        await search.start()
        encryptionTask.withLock { task in
            task = Task { [store, logger] in
                do throws(ChatError) {
                    return .success(try await store.encryptRows())
                } catch {
                    // The next start continues the encryption.
                    logger.warning(
                        "The store is not completely encrypted yet.", metadata: ["reason": "\(error.message)"])
                    return .failure(error)
                }
            }
        }
    }

    /// Ends the loop and the connection, and waits until all tasks have ended.
    func close() async {
        mailbox.post(.close)
        let task = loop.withLock { $0 }
        await task?.value
        await uploads.end()
        await downloads.end()
        let encryption = encryptionTask.withLock { $0 }
        encryption?.cancel()
        _ = await encryption?.value
        await search.close()
        connection.set(.idle)
        connection.end()
        changes.end()
        typing.end()
        presence.end()
        push.end()
        subscriptions.end()
        events.end()
        store.recentsEvents.end()
    }

    func waitForStoreEncryption() async throws(ChatError) {
        guard let task = encryptionTask.withLock({ $0 }) else { throw Self.closed }
        try await task.value.get()
    }

    // MARK: Requests and updates

    static let closed = ChatError(.closed, "The client is closed.")
    static let cancelled = ChatError(.cancelled, "The task that sent the request was cancelled.")

    /// Sends a request and waits for its answer, with the timeout and retries of the current ``RequestOptions``.
    ///
    /// - Throws: The server's error, `unreachable` if there is no connection, or `timeout`. `cancelled` if the task is
    ///   cancelled before the request is sent. After that, the task still waits for the answer.
    func request(_ request: any FrameRequest) async throws(ChatError) -> [UInt8] {
        let options = try RequestOptions.current.validated()
        var backoff = Backoff()
        var generator = SystemRandomNumberGenerator()
        while true {
            do {
                return try await attempt(request, timeout: options.timeout)
            } catch let error where error.isTemporary && backoff.failures < options.retries {
                let wait = max(backoff.next(using: &generator), error.retryAfter ?? 0)
                do {
                    try await Task.sleep(for: .seconds(wait))
                } catch {
                    throw Self.cancelled
                }
            }
        }
    }

    private func attempt(_ request: any FrameRequest, timeout: Duration) async throws(ChatError) -> [UInt8] {
        let caller = RequestCaller()
        let outcome: Result<[UInt8], ChatError> = await withTaskCancellationHandler {
            await reply { .request(request, timeout: timeout, caller, $0) }
        } onCancel: { [mailbox] in
            // If the task is already cancelled, the driver receives this input before the request, and finds it marked.
            caller.cancel()
            mailbox.post(.requestCancelled(caller))
        }
        return try outcome.get()
    }

    /// Calls an operation of the server, and waits for its answer.
    ///
    /// - Throws: The server's error; `unreachable` when there is no connection; `timeout`.
    func perform<Request: ClientOperation>(_ operation: Request) async throws(ChatError) -> Request.Answer {
        var reader = try JSONReader(try await request(operation))
        return try Request.Answer(from: &reader)
    }

    /// Retries a read of the store until it succeeds.
    ///
    /// Without it, an observer would stop permanently after a single failure.
    func retryingReads<Answer>(
        _ read: () async throws(ChatError) -> Answer
    ) async throws(ChatError) -> Answer {
        while true {
            do throws(ChatError) {
                return try await read()
            } catch {
                guard error.code == .localStorage, (try? await Task.sleep(for: .seconds(1))) != nil else { throw error }
            }
        }
    }

    /// Posts an input to the loop and waits for its reply.
    func ask<Answer: Sendable>(_ input: (@escaping Reply<Answer>) -> Input) async throws(ChatError) -> Answer {
        try await reply(to: input).get()
    }

    private func reply<Answer: Sendable>(
        to input: (@escaping Reply<Answer>) -> Input
    ) async -> Result<Answer, ChatError> {
        await withCheckedContinuation { continuation in
            let isAccepted = mailbox.post(input { continuation.resume(returning: $0) })
            if !isAccepted { continuation.resume(returning: .failure(Self.closed)) }
        }
    }

    /// The time after which a stored profile is fetched again, in seconds.
    static let profileLifetime: TimeInterval = 3600

    /// Fetches profiles from the server and stores them.
    func fetchProfiles(_ users: [UserID]) async throws(ChatError) {
        let profiles = try await perform(FetchUsers(users: users)).users
        let now = clock()
        try await store.write { try $0.save(profiles, of: users, now: now) }
    }

    private let syncStatus = Mutex(SyncStatus())

    private let headsAtEntry = Mutex<[ConversationID: Seq]>([:])

    /// Returns the name under which this device stores a conversation.
    ///
    /// The app may also name a direct conversation by both users, and a community by its own ID.
    func log(of id: ConversationID) -> ConversationID { id.logID.relative(to: user) }

    /// The newest sequence number of a room when this connection entered it, or `nil` if it didn't.
    func headAtEntry(of id: ConversationID) -> Seq? { headsAtEntry.withLock { $0[id] } }

    func recordEntry(_ id: ConversationID, at head: Seq) { headsAtEntry.withLock { $0[id] = head } }

    private struct SyncStatus {
        var isResumed = false
        var subscribed: Set<ConversationID> = []
    }

    /// Whether the current connection has delivered, and continues to deliver, all updates of a conversation.
    package func isCurrent(_ id: ConversationID) -> Bool {
        syncStatus.withLock { $0.isResumed && (id.kind.traits.hasRecents || $0.subscribed.contains(id)) }
    }

    func setSyncStatus(isResumed: Bool, subscribed: Set<ConversationID>) {
        syncStatus.withLock { $0 = SyncStatus(isResumed: isResumed, subscribed: subscribed) }
    }

    /// Sends an event to the observers of `events`, with its message decrypted if possible.
    func notify(_ event: ClientEvent) {
        guard events.isObserved else { return }
        let messageEncryption = store.messageEncryption
        switch event {
        case .message(let message): events.send(.message(messageEncryption.open(message)))
        case .changed(let message): events.send(.changed(messageEncryption.open(message)))
        case .transient(let message): events.send(.transient(messageEncryption.open(message)))
        default: events.send(event)
        }
    }

    /// Applies inputs in one transaction and notifies the observers of their conversations.
    @discardableResult
    package func apply(_ inputs: [LogInput]) async throws(ChatError) -> [LogOutcome] {
        let outcomes = try await store.write { try $0.apply(inputs) }
        changes.changed(Set(inputs.map(\.conversation)))
        reportDelivered(after: outcomes)
        return outcomes
    }

    /// Reports the messages that a committed transaction stored, if any must be reported.
    func reportDelivered(after outcomes: [LogOutcome]) {
        if outcomes.contains(where: \.hasDeliveries) { mailbox.post(.reportDelivered) }
    }

    /// Applies messages that a caller found on the server, and requests the heads that they leave uncertain.
    ///
    /// A message that was read before its conversation was deleted restores the conversation. The answer without its
    /// head deletes it again.
    func apply(found messages: [Message]) async throws(ChatError) {
        guard !messages.isEmpty else { return }
        let uncertain = try await apply(messages.map { .found($0) }).filter(\.needsHead).map(\.conversation)
        if !uncertain.isEmpty { mailbox.post(.fetchHeads(uncertain)) }
    }

    /// Applies a page that a caller requested, and requests whatever the page shows to be missing.
    func apply(_ page: LogPage, to id: ConversationID) async throws(ChatError) -> LogOutcome? {
        let outcome = try await apply([.page(id, page)]).first
        if let behind = outcome?.behind { mailbox.post(.behind(behind)) }
        if outcome?.needsHead == true { mailbox.post(.fetchHeads([id])) }
        return outcome
    }
}
