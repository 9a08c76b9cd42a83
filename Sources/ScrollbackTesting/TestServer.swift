public import Foundation
public import Scrollback
package import ScrollbackEngine
import ScrollbackWire
import Synchronization

/// An in-memory server with real clients, for tests of apps.
///
/// The server is the real engine with an in-memory store, and the clients are real SDK clients. A test can disconnect
/// the clients and advance the clock. The server opens no ports.
public final class TestServer: Sendable {
    let server: MemoryServer
    private let time: AdjustableClock
    private let clients = Mutex<[ChatClient]>([])

    /// Creates a server with user profiles.
    ///
    /// Other users can have clients too.
    ///
    /// - Parameter users: The users who have a profile from the start.
    /// - Throws: The errors of the server's store; the in-memory store never throws.
    public convenience init(users: [UserID] = []) throws {
        try self.init(users: users, store: MemoryStore(generation: UInt64.random(in: .min ... .max)))
    }

    /// Creates a server with a store and, optionally, rate limits; other test servers have none.
    package init(
        users: [UserID] = [], store: any MessageStore, limiter: RateLimiter? = nil
    ) throws {
        let time = AdjustableClock()
        self.time = time
        server = try MemoryServer(store: store, limiter: limiter, clock: { time.now })
        for user in users {
            server.engine.putUser(
                user, ProfileChange(name: user.text.capitalized), by: Caller(user: user)
            ) { _ in }
        }
    }

    // MARK: Clients

    /// Creates a connected client of a user; each call creates another device.
    ///
    /// The user `admin` is an administrator.
    ///
    /// - Parameters:
    ///   - user: The user of the client.
    ///   - store: The location of the client's store; a directory outlives the client.
    ///   - configure: Changes the configuration, which has no send rate limit by default.
    /// - Returns: A client that has loaded its user's list of conversations and receives all further events. If the
    ///   user is offline or rejected, the client is waiting to connect.
    /// - Throws: `local-storage` if the store can't be opened or belongs to another user.
    public func client(
        _ user: UserID, store: ChatClient.Configuration.Store = .inMemory,
        configure: (inout ChatClient.Configuration) -> Void = { _ in }
    ) async throws(ChatError) -> ChatClient {
        let client = try await disconnectedClient(user, store: store, configure: configure)
        client.connect()
        await client.waitUntilReady()
        return client
    }

    /// Creates a client that doesn't connect until you call `connect()`.
    ///
    /// The parameters and errors are those of ``client(_:store:configure:)``.
    public func disconnectedClient(
        _ user: UserID, store: ChatClient.Configuration.Store = .inMemory,
        configure: (inout ChatClient.Configuration) -> Void = { _ in }
    ) async throws(ChatError) -> ChatClient {
        guard let address = URL(string: "http://world.invalid") else {
            throw ChatError(.internalError, "The URL of the in-memory server is invalid.")
        }
        var configuration = ChatClient.Configuration(
            server: address, user: user, store: store, token: { user.text })
        configuration.transport = MemoryTransport(server: server, user: user)
        configuration.mediaTransport = MemoryMediaTransport(server: server, user: user)
        configuration.clock = { [time] in time.now }
        configuration.pace = nil
        configure(&configuration)
        let client = try await ChatClient.open(configuration)
        clients.withLock { $0.append(client) }
        return client
    }

    // MARK: Network and time

    /// Disconnects a user's clients, and rejects new connections until ``goOnline(_:)``.
    public func goOffline(_ user: UserID) {
        server.setReachable(false, for: user)
    }

    /// Allows a user's clients to connect again, and makes them reconnect immediately.
    public func goOnline(_ user: UserID) {
        server.setReachable(true, for: user)
        for client in clients.withLock({ $0 }) where client.user == user { client.retryConnection() }
    }

    /// Disconnects a user's client once, just before it receives the acknowledgement of the user's next send.
    public func loseNextAcknowledgement(of user: UserID) {
        server.loseNextAcknowledgement(of: user)
    }

    /// Advances the clock of the server and all clients.
    ///
    /// Delays that are already running, for example before a reconnect, don't get shorter.
    public func advance(by seconds: TimeInterval) {
        time.advance(by: seconds)
        Task { try await server.engine.sendScheduledMessages() }
    }

    // MARK: Server data

    /// Creates a group whose first member is its owner.
    ///
    /// - Throws: `invalid-parameter` if `members` is empty or the group already exists.
    public func makeGroup(_ name: Identifier, members: [UserID]) async throws(ChatError) {
        guard let owner = members.first else { throw ChatError(.invalidParameter, "A group needs a member.") }
        try await server.perform { engine, completion in
            let settings = ConversationSettings(name: name.text, members: members)
            engine.execute(
                PutConversation(conversation: .group(name), settings: settings), by: Caller(user: owner),
                completion: completion)
        }
    }

    /// Adds a user to a group or community, or removes them.
    public func setMember(
        _ user: UserID, of conversation: ConversationID, _ isMember: Bool
    ) async throws(ChatError) {
        let admin = Caller(user: "admin", isAdmin: true)
        if isMember {
            try await server.perform { engine, completion in
                engine.execute(PutMember(conversation: conversation, user: user), by: admin, completion: completion)
            }
        } else {
            try await server.perform { engine, completion in
                engine.execute(RemoveMember(conversation: conversation, user: user), by: admin, completion: completion)
            }
        }
    }

    /// Changes a user's name.
    public func setName(_ name: String, of user: UserID) async throws(ChatError) {
        try await server.perform { engine, completion in
            engine.putUser(user, ProfileChange(name: name), by: Caller(user: user), completion: completion)
        }
    }

    /// Sets how much of the history the members of a group or community can see.
    public func setHistoryVisibility(
        _ visibility: HistoryVisibility, of conversation: ConversationID
    ) async throws(ChatError) {
        let admin = Caller(user: "admin", isAdmin: true)
        try await server.perform { engine, completion in
            let settings = ConversationSettings(visibility: visibility)
            engine.execute(
                PutConversation(conversation: conversation, settings: settings), by: admin, completion: completion)
        }
    }

    /// Creates a room.
    ///
    /// - Parameters:
    ///   - name: The name of the room.
    ///   - capacity: The maximum number of concurrent subscribers; `nil` for no limit.
    public func makeRoom(_ name: Identifier, capacity: Int? = nil) async throws(ChatError) {
        let admin = Caller(user: "admin", isAdmin: true)
        try await server.perform { engine, completion in
            let settings = ConversationSettings(name: name.text, capacity: capacity.map { .set($0) } ?? .keep)
            engine.execute(
                PutConversation(conversation: .room(name), settings: settings), by: admin, completion: completion)
        }
    }

    /// Mutes a member of a conversation, or unmutes the member if `mute` is `nil`.
    public func mute(_ user: UserID, _ mute: Mute?, in conversation: ConversationID) async throws(ChatError) {
        let admin = Caller(user: "admin", isAdmin: true)
        try await server.perform { engine, completion in
            engine.execute(
                PutMember(conversation: conversation, user: user, mute: .some(mute)), by: admin, completion: completion)
        }
    }

    /// Freezes or unfreezes a conversation.
    ///
    /// Only moderators, owners and administrators can write in a frozen conversation.
    public func setFrozen(_ isFrozen: Bool, _ conversation: ConversationID) async throws(ChatError) {
        let admin = Caller(user: "admin", isAdmin: true)
        try await server.perform { engine, completion in
            let settings = ConversationSettings(isFrozen: isFrozen)
            engine.execute(
                PutConversation(conversation: conversation, settings: settings), by: admin, completion: completion)
        }
    }

    /// Changes the server's settings for read receipts, presence and notices; `nil` keeps a setting.
    ///
    /// - Parameters:
    ///   - readReceipts: Whether the server reports read positions to other users; on by default.
    ///   - presence: Whether the server reports presence.
    ///   - notices: Whether the server writes changes to a group into its log.
    ///   - directory: Whether users find all users of the server; off by default.
    public func setFeatures(
        readReceipts: Bool? = nil, presence: Bool? = nil, notices: Bool? = nil, directory: Bool? = nil
    ) async throws(ChatError) {
        try await set { settings in
            settings.people.readReceipts = readReceipts ?? settings.people.readReceipts
            settings.people.presence = presence ?? settings.people.presence
            settings.people.notices = notices ?? settings.people.notices
            if let directory { settings.people.directory = directory ? .everyone : .nobody }
        }
    }

    /// Creates a community with channels.
    public func makeCommunity(
        _ name: Identifier, channels: [Identifier], members: [UserID]
    ) async throws(ChatError) {
        let admin = Caller(user: "admin", isAdmin: true)
        try await server.perform { engine, completion in
            let settings = ConversationSettings(name: name.text, members: members)
            engine.execute(
                PutConversation(conversation: .community(name), settings: settings), by: admin, completion: completion)
        }
        for channel in channels {
            try await server.perform { engine, completion in
                let id = ConversationID.community(name, channel: channel)
                let settings = ConversationSettings(name: channel.text)
                engine.execute(
                    PutConversation(conversation: id, settings: settings), by: admin, completion: completion)
            }
        }
    }

    /// Returns all messages of a conversation on the server, oldest first, regardless of their visibility.
    public func messages(in conversation: ConversationID) throws -> [Message] {
        var messages: [Message] = []
        var query = HistoryQuery(.earliest, limit: 100, sort: .oldestFirst)
        let admin = Caller(user: "admin", isAdmin: true)
        while true {
            let page = try server.engine.history(of: conversation, query, by: admin)
            messages += page.messages
            guard let next = page.newer else { return messages }
            query = HistoryQuery(.cursor(next), limit: 100)
        }
    }

    /// Closes all clients.
    public func close() async {
        for client in clients.withLock({ $0 }) { await client.close() }
    }
}

/// A clock that tests can advance; it runs on with the system clock, so that no two readings are equal.
private final class AdjustableClock: Sendable {
    private let offset = Mutex<TimeInterval>(0)

    var now: Date { Date().addingTimeInterval(offset.withLock { $0 }) }

    func advance(by seconds: TimeInterval) {
        offset.withLock { $0 += seconds }
    }
}

extension TestServer {
    /// Advances the clock to the beginning of the next day in UTC, so that a test does not run across midnight.
    package func startNextDay() {
        advance(by: 86_400 - now.timeIntervalSince1970.truncatingRemainder(dividingBy: 86_400))
    }

    /// The server's engine, for operations that clients can't perform.
    package var engine: Engine { server.engine }

    /// Runs an engine operation and waits for its completion handler.
    @discardableResult
    package func perform<Answer: Sendable>(
        _ body: (Engine, @escaping Engine.Completion<Answer>) -> Void
    ) async throws(ChatError) -> Answer {
        try await server.perform(body)
    }

    /// Stops the server, and starts it with another store, such as an earlier copy of the current one.
    ///
    /// All connections are lost, and the clients reconnect.
    package func restart(with store: any MessageStore) throws { try server.restart(with: store) }

    /// The time of the server and its clients, for example to schedule a message.
    public var now: Date { time.now }

    /// Returns the number of history requests that a user's devices sent for a page of one conversation.
    package func historyRequests(of user: UserID) -> Int { server.historyRequests(of: user) }

    /// Returns the number of requests that a user's devices sent, by request type.
    package func requests(of user: UserID) -> [String: Int] { server.requests(of: user) }

    /// Asks a user's devices to connect again, as one of several servers does before it stops.
    package func askToMove(_ user: UserID, within milliseconds: Int) {
        server.askToMove(user, within: milliseconds)
    }

    /// Simulates connections of a user that read too slowly, or lets them catch up.
    package func setSlow(_ isSlow: Bool, _ user: UserID) { server.setSlow(isSlow, user) }

    /// Simulates delays for a user's connections, or ends them.
    ///
    /// Each response has its own random delay, so later events can overtake it. Events arrive in batches.
    package func setDelayed(_ isDelayed: Bool, _ user: UserID) { server.setDelayed(isDelayed, user) }

    /// Changes the server's settings.
    package func set(_ change: @escaping @Sendable (inout ServerSettings) -> Void) async throws(ChatError) {
        try await server.perform { engine, completion in
            engine.putSettings(by: Caller(user: "admin", isAdmin: true), completion: completion, change)
        }
    }

    /// The server's messages of a conversation that one member can see, and the member's counts.
    package struct ServerState: Sendable {
        /// The sequence number, sender and text of each message, oldest first.
        package var texts: [String]
        package var unread: Int64
        package var mentions: Int64
    }

    /// Returns the messages and counts of a conversation as a user sees them on the server.
    ///
    /// - Returns: `nil` if the user can't see the conversation.
    package func serverState(of conversation: ConversationID, for user: UserID) throws -> ServerState? {
        let caller = Caller(user: user)
        guard let head = try? server.engine.head(of: conversation, by: caller) else { return nil }
        let query = HistoryQuery(.earliest, limit: 100, sort: .oldestFirst)
        let page = try server.engine.history(of: conversation, query, by: caller)
        return ServerState(
            texts: page.messages.map { "\($0.seq) \($0.sender) \($0.text ?? "-")" }, unread: head.unread,
            mentions: head.mentions)
    }
}

extension ChatClient {
    /// Waits until this device has loaded the list of conversations, or can't connect to the server.
    fileprivate func waitUntilReady() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                for await list in recents.views(limit: 1) where list.isComplete { return }
            }
            group.addTask { [self] in
                for await state in connection {
                    switch state {
                    case .idle, .connecting, .online: continue
                    case .waiting, .rejected: return
                    }
                }
            }
            await group.next()
            group.cancelAll()
        }
    }
}
