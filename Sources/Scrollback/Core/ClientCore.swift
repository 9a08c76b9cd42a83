import Foundation
import Logging
package import ScrollbackModel
import ScrollbackSync
import ScrollbackWire
import Synchronization

/// What keeps one client going: one loop takes what happened, in order, asks the state machines of `ScrollbackSync`
/// what follows, stores it, and does it.
///
/// Nothing else talks to the connection.
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
    /// Who types where.
    let typing = StateSources<[UserID]>([])
    /// Who is there, as far as it is known.
    let presence = StateSource<[UserID: Presence]>([:])
    let push = StateSource<Push.State>()
    let subscriptions = StateSources<Conversation.Subscription.State>(.waiting)
    let events: EventCenter<ClientEvent>
    let mailbox = Mailbox<Input>()
    package let search: SearchIndexer
    let pace: SendPace?
    let media: any MediaTransport
    let mediaSettings: MediaSettings
    let files: LocalFiles
    let workshop: AttachmentWorkshop
    package let uploads = Uploads()
    let downloads = Downloads()
    /// How much of a file is handed over at a time.
    let uploadPiece: Int
    let sharesPresence: Bool
    let syncsReadState: Bool
    let pushInbox: PushInbox?
    /// The token that was good last.
    let currentToken = Mutex<String?>(nil)
    private let loop = Mutex<Task<Void, Never>?>(nil)
    /// Brings what was stored before in step with the newest key.
    private let storeSealing = Mutex<Task<Result<Void, ChatError>, Never>?>(nil)

    enum Input: Sendable {
        case connect
        case close
        /// The network may be back, or somebody is waiting.
        case kick
        case token(generation: Int, Result<String, ChatError>)
        case opened(generation: Int, any TransportConnection)
        case openFailed(generation: Int, ChatError)
        case transport(generation: Int, TransportEvent)
        case heartbeat(generation: Int)
        case tick
        case request(ClientRequest, timeout: Duration, Reply<[UInt8]>)
        case requestTimedOut(ref: Int64, generation: Int)
        /// A message was put into the outbox.
        case queued(OutboxItem)
        /// What became of its files.
        case uploaded(MessageID, Result<Void, ChatError>)
        /// Answered with whether it is in the outbox.
        case retry(MessageID, Reply<Bool>)
        case cancel(MessageID, Reply<Outbox.Cancellation>)
        /// Something of the user's own was set: what was read, what is muted.
        case stateSet
        /// Applying something showed that a log is behind.
        case behind(LogPosition)
        /// What the server counts there must be asked for.
        case learn([ConversationID])
        /// Heads of a window are to be stored, and conversations to be looked at again: steps of the loop to itself.
        case storeHeads([ConversationHead], String, generation: Int)
        case recheck([ConversationID])
        case setActive(Bool)
        case subscribe([ConversationID], isOn: Bool)
        case typing(ConversationID, Bool)
        case watch(Set<UserID>, isOn: Bool)
        /// Where the device is reached by push, or (nil) that it is not.
        case setPush(PushDevice?, Reply<Void>)
        /// Pushes told of something new.
        case pushed
    }

    typealias Reply<Answer: Sendable> = @Sendable (Result<Answer, ChatError>) -> Void

    init(
        user: UserID, store: LocalStore, server: URL, device: String, transport: any Transport,
        token: @escaping @Sendable () async throws -> String, clock: @escaping @Sendable () -> Date, logger: Logger,
        eventCapacity: Int, pace: SendPace?, media: any MediaTransport, mediaSettings: MediaSettings, uploadPiece: Int,
        sharesPresence: Bool = false, syncsReadState: Bool = true, pushInbox: PushInbox? = nil
    ) {
        self.user = user
        self.store = store
        self.server = server
        self.device = device
        self.transport = transport
        self.token = token
        self.clock = clock
        self.logger = logger
        events = EventCenter(capacity: eventCapacity) { .missed($0) }
        search = SearchIndexer(store: store, logger: logger)
        self.pace = pace
        self.media = media
        self.mediaSettings = mediaSettings
        self.uploadPiece = uploadPiece
        self.sharesPresence = sharesPresence
        self.syncsReadState = syncsReadState
        self.pushInbox = pushInbox
        files = store.files
        workshop = AttachmentWorkshop(files: store.files, settings: mediaSettings)
    }

    /// Starts the loop.
    ///
    /// What was being sent when the process ended is queued again.
    func start() async throws(ChatError) {
        let (items, isSettled, known) = try await store.read {
            (try $0.outbox(), try $0.isSettled(), try $0.pushDevice())
        }
        if isSettled { store.recentsEvents.greet(with: .loadedAll) }
        let registration = PushRegistration(
            of: try Identifier(device, parameter: "device"), wanted: known.wanted, isTold: known.isTold)
        push.set(registration.state)
        let task = Task {
            await Driver(core: self, outbox: Outbox(restoring: items, pace: pace), push: registration).run()
        }
        loop.withLock { $0 = task }
        await lookIntoPushInbox()
        await tidyFiles()
        await search.start()
        storeSealing.withLock { task in
            task = Task { [store, logger] in
                do throws(ChatError) {
                    return .success(try await store.seal())
                } catch {
                    // The next start goes on with it.
                    logger.warning(
                        "the store is not encrypted as a whole yet", metadata: ["reason": "\(error.message)"])
                    return .failure(error)
                }
            }
        }
    }

    /// Ends the loop and the connection; waits until nothing runs any more.
    func close() async {
        mailbox.post(.close)
        let task = loop.withLock { $0 }
        await task?.value
        await uploads.end()
        await downloads.end()
        let sealing = storeSealing.withLock { $0 }
        sealing?.cancel()
        _ = await sealing?.value
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

    func storeEncrypted() async throws(ChatError) {
        guard let task = storeSealing.withLock({ $0 }) else { throw Self.closed }
        try await task.value.get()
    }

    // MARK: For the rest of the client

    static let closed = ChatError(.closed, "the client is closed")

    /// Asks the server, and waits for its answer; as long and as often as the current ``RequestOptions`` say.
    ///
    /// - Throws: what the server refused; `unreachable` when there is no connection; `timeout`.
    func request(_ request: ClientRequest) async throws(ChatError) -> [UInt8] {
        let options = try RequestOptions.current.validated()
        var backoff = Backoff()
        var generator = SystemRandomNumberGenerator()
        while true {
            do {
                return try await ask { .request(request, timeout: options.timeout, $0) }
            } catch let error where error.isTemporary && backoff.failures < options.retries {
                let wait = max(backoff.next(using: &generator), error.retryAfter ?? 0)
                do {
                    try await Task.sleep(for: .seconds(wait))
                } catch {
                    throw ChatError(.cancelled, "the task that asked was cancelled")
                }
            }
        }
    }

    /// Reads the store until it can be read: whoever follows it would stand still for good after one failure.
    func insisting<Answer>(
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

    /// Hands the loop something to be answered, and waits for the answer.
    func ask<Answer: Sendable>(_ input: (@escaping Reply<Answer>) -> Input) async throws(ChatError) -> Answer {
        let result: Result<Answer, ChatError> = await withCheckedContinuation { continuation in
            let isTaken = mailbox.post(input { continuation.resume(returning: $0) })
            if !isTaken { continuation.resume(returning: .failure(Self.closed)) }
        }
        return try result.get()
    }

    /// How long a profile is good for, in seconds.
    static let profileLifetime: TimeInterval = 3600

    /// Asks for profiles and keeps them.
    func fetchPeople(_ users: [UserID]) async throws(ChatError) {
        let body = try await request(.users(users))
        var reader = try JSONReader(body)
        let profiles = try [UserProfile](from: &reader)
        let now = clock()
        try await store.write { try $0.save(profiles, of: users, now: now) }
    }

    private let currency = Mutex(Currency())

    private let entrances = Mutex<[ConversationID: Seq]>([:])

    /// The newest place of a room when it was entered last on this connection; nothing for what was not entered.
    func entrance(of id: ConversationID) -> Seq? { entrances.withLock { $0[id] } }

    func enter(_ id: ConversationID, at head: Seq) { entrances.withLock { $0[id] = head } }

    private struct Currency {
        var isResumed = false
        var heard: Set<ConversationID> = []
    }

    /// Whether this connection has brought, and keeps bringing, word of everything new in a conversation.
    package func isCurrent(_ id: ConversationID) -> Bool {
        currency.withLock { $0.isResumed && (id.kind.traits.hasRecents || $0.heard.contains(id)) }
    }

    func setCurrency(isResumed: Bool, heard: Set<ConversationID>) {
        currency.withLock { $0 = Currency(isResumed: isResumed, heard: heard) }
    }

    /// Tells whoever takes events of a message, as far as it can be read here.
    func tell(_ event: ClientEvent) {
        guard events.isObserved else { return }
        let sealing = store.sealing
        switch event {
        case .message(let message): events.send(.message(sealing.open(message)))
        case .changed(let message): events.send(.changed(sealing.open(message)))
        case .transient(let message): events.send(.transient(sealing.open(message)))
        default: events.send(event)
        }
    }

    /// Applies inputs in one transaction and tells whoever shows them.
    @discardableResult
    package func apply(_ inputs: [LogInput]) async throws(ChatError) -> [LogOutcome] {
        let outcomes = try await store.write { try $0.apply(inputs) }
        changes.changed(Set(inputs.map(\.conversation)))
        return outcomes
    }

    /// Applies a page that somebody asked for, and has what it shows to be missing asked for too.
    func apply(_ page: LogPage, to id: ConversationID) async throws(ChatError) -> LogOutcome? {
        let outcome = try await apply([.page(id, page)]).first
        if let behind = outcome?.behind { mailbox.post(.behind(behind)) }
        if outcome?.needsHead == true { mailbox.post(.learn([id])) }
        return outcome
    }
}
