public import Foundation
public import Scrollback
package import ScrollbackEngine
import ScrollbackWire
import Synchronization

/// A world without a network, for an app's tests: a server in memory and clients that talk to it, whose connections can be
/// cut and whose clock can be moved.
///
/// The server is the real engine over a store in memory; the clients are the real SDK. Nothing sleeps and nothing listens.
public final class ChatWorld: Sendable {
    let server: MemoryServer
    private let time: WorldClock
    private let clients = Mutex<[ChatClient]>([])

    /// A world with some users.
    ///
    /// Any other user may have a client too.
    ///
    /// - Parameter users: who has a profile from the beginning.
    /// - Throws: what the server's store throws; the one in memory never does.
    public convenience init(users: [UserID] = []) throws {
        try self.init(users: users, store: MemoryStore(generation: UInt64.random(in: .min ... .max)))
    }

    package init(users: [UserID] = [], store: any MessageStore) throws {
        let time = WorldClock()
        self.time = time
        server = try MemoryServer(store: store, clock: { time.now })
        for user in users {
            server.engine.putUser(
                user, ProfileChange(name: user.text.capitalized), by: Caller(user: user)
            ) { _ in }
        }
    }

    // MARK: Clients

    /// A connected client of a user; each call is another device.
    ///
    /// The user `admin` is an administrator.
    ///
    /// - Parameters:
    ///   - user: whose client it is.
    ///   - store: where it keeps what it knows; a directory survives the client.
    ///   - configure: changes its configuration, whose pace is as fast as can be here.
    /// - Returns: a client whose device knows its user's list, so that it hears what is said from here on; where the user is
    ///   offline or refused, one that waits.
    /// - Throws: `local-storage` when the store can't be opened or is another user's.
    public func client(
        _ user: UserID, store: ChatClient.Configuration.Store = .inMemory,
        configure: (inout ChatClient.Configuration) -> Void = { _ in }
    ) async throws(ChatError) -> ChatClient {
        let client = try await disconnectedClient(user, store: store, configure: configure)
        client.connect()
        await client.arrived()
        return client
    }

    /// A client that waits for `connect()`.
    public func disconnectedClient(
        _ user: UserID, store: ChatClient.Configuration.Store = .inMemory,
        configure: (inout ChatClient.Configuration) -> Void = { _ in }
    ) async throws(ChatError) -> ChatClient {
        guard let address = URL(string: "http://world.invalid") else {
            throw ChatError(.internalError, "the world has no address")
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

    /// Cuts a user's connections, and refuses new ones until ``goOnline(_:)``.
    public func goOffline(_ user: UserID) {
        server.setReachable(false, for: user)
    }

    /// Lets a user's clients connect again, and tells them so.
    public func goOnline(_ user: UserID) {
        server.setReachable(true, for: user)
        for client in clients.withLock({ $0 }) where client.user == user { client.retryConnection() }
    }

    /// Cuts a user's connections just before the answer to their next send would arrive, once.
    public func loseNextAcknowledgement(of user: UserID) {
        server.loseNextAcknowledgement(of: user)
    }

    /// Moves the clock on, for the server and every client.
    ///
    /// Who waits already, for example to connect again, waits as long as before and looks at the clock then.
    public func advance(by seconds: TimeInterval) {
        time.advance(by: seconds)
    }

    // MARK: What is there

    /// Makes a group, with the first member as its owner.
    ///
    /// - Throws: `invalid-parameter` when there is no member, or the group is there already.
    public func makeGroup(_ name: Identifier, members: [UserID]) async throws(ChatError) {
        guard let owner = members.first else { throw ChatError(.invalidParameter, "a group needs a member") }
        try await server.perform { engine, completion in
            engine.putConversation(
                .group(name), ConversationSettings(name: name.text, members: members), by: Caller(user: owner),
                completion: completion)
        }
    }

    /// Puts somebody into a group or community, or takes them out.
    public func setMember(
        _ user: UserID, of conversation: ConversationID, _ isMember: Bool
    ) async throws(ChatError) {
        let admin = Caller(user: "admin", isAdmin: true)
        if isMember {
            try await server.perform { engine, completion in
                engine.putMember(user, role: nil, of: conversation, by: admin, completion: completion)
            }
        } else {
            try await server.perform { engine, completion in
                engine.removeMember(user, from: conversation, by: admin, completion: completion)
            }
        }
    }

    /// Gives a user another name.
    public func setName(_ name: String, of user: UserID) async throws(ChatError) {
        try await server.perform { engine, completion in
            engine.putUser(user, ProfileChange(name: name), by: Caller(user: user), completion: completion)
        }
    }

    /// Changes how much of the past members of a group or community see.
    public func setHistoryVisibility(
        _ visibility: HistoryVisibility, of conversation: ConversationID
    ) async throws(ChatError) {
        let admin = Caller(user: "admin", isAdmin: true)
        try await server.perform { engine, completion in
            engine.putConversation(
                conversation, ConversationSettings(visibility: visibility), by: admin, completion: completion)
        }
    }

    /// Makes a room.
    ///
    /// - Parameter capacity: how many may be in it at once; any number by default.
    public func makeRoom(_ name: Identifier, capacity: Int? = nil) async throws(ChatError) {
        let admin = Caller(user: "admin", isAdmin: true)
        try await server.perform { engine, completion in
            engine.putConversation(
                .room(name), ConversationSettings(name: name.text, capacity: .some(capacity)), by: admin,
                completion: completion)
        }
    }

    /// Keeps somebody from writing in a conversation, or (nil) lets them write again.
    public func mute(_ user: UserID, _ mute: Mute?, in conversation: ConversationID) async throws(ChatError) {
        let admin = Caller(user: "admin", isAdmin: true)
        try await server.perform { engine, completion in
            engine.putMember(
                user, role: nil, mute: .some(mute), of: conversation, by: admin, completion: completion)
        }
    }

    /// Lets only moderators, owners and administrators write in a conversation, or everybody again.
    public func setFrozen(_ isFrozen: Bool, _ conversation: ConversationID) async throws(ChatError) {
        let admin = Caller(user: "admin", isAdmin: true)
        try await server.perform { engine, completion in
            engine.putConversation(
                conversation, ConversationSettings(isFrozen: isFrozen), by: admin, completion: completion)
        }
    }

    /// Changes what people are told of each other, as an operator does; what is left out stays.
    ///
    /// - Parameters:
    ///   - readReceipts: whether it is told who has read what, as it is in the beginning.
    ///   - presence: whether it is told who is there.
    ///   - notices: whether changes to a group are written into its log.
    public func setPeople(
        readReceipts: Bool? = nil, presence: Bool? = nil, notices: Bool? = nil
    ) async throws(ChatError) {
        try await set { settings in
            settings.people.readReceipts = readReceipts ?? settings.people.readReceipts
            settings.people.presence = presence ?? settings.people.presence
            settings.people.notices = notices ?? settings.people.notices
        }
    }

    /// Makes a community with channels.
    public func makeCommunity(
        _ name: Identifier, channels: [Identifier], members: [UserID]
    ) async throws(ChatError) {
        let admin = Caller(user: "admin", isAdmin: true)
        try await server.perform { engine, completion in
            engine.putConversation(
                .community(name), ConversationSettings(name: name.text, members: members), by: admin,
                completion: completion)
        }
        for channel in channels {
            try await server.perform { engine, completion in
                engine.putConversation(
                    .community(name, channel: channel), ConversationSettings(name: channel.text), by: admin,
                    completion: completion)
            }
        }
    }

    /// What the server has of a conversation, oldest first, whoever may see it.
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

    /// Closes every client.
    public func close() async {
        for client in clients.withLock({ $0 }) { await client.close() }
    }
}

/// A clock that moves when it is told to, and a little by itself, so that no two readings are the same.
private final class WorldClock: Sendable {
    private let offset = Mutex<TimeInterval>(0)

    var now: Date { Date().addingTimeInterval(offset.withLock { $0 }) }

    func advance(by seconds: TimeInterval) {
        offset.withLock { $0 += seconds }
    }
}

extension ChatWorld {
    /// The server's engine, for what no client may do.
    package var engine: Engine { server.engine }

    /// Has the engine do something that ends later.
    @discardableResult
    package func perform<Answer: Sendable>(
        _ body: (Engine, @escaping Engine.Completion<Answer>) -> Void
    ) async throws(ChatError) -> Answer {
        try await server.perform(body)
    }

    /// What the server's clock says.
    package var now: Date { time.now }

    /// How often a user's devices asked the server for a page of one conversation.
    package func historyRequests(of user: UserID) -> Int { server.historyRequests(of: user) }

    /// How often a user's devices asked the server for what, by the type of the request.
    package func requests(of user: UserID) -> [String: Int] { server.requests(of: user) }

    /// Lets a user's connections have too much to read, or catch up.
    package func setSlow(_ isSlow: Bool, _ user: UserID) { server.setSlow(isSlow, user) }

    /// Lets answers to a user's questions come late, each by another time, past what happens meanwhile; and lets them hear of
    /// what happens in heaps.
    package func setLate(_ isLate: Bool, _ user: UserID) { server.setLate(isLate, user) }

    /// Changes what an operator sets.
    package func set(_ change: @escaping @Sendable (inout ServerSettings) -> Void) async throws(ChatError) {
        try await server.perform { engine, completion in
            engine.putSettings(by: Caller(user: "admin", isAdmin: true), completion: completion, change)
        }
    }

    /// What the server has of a conversation for one of its members: the whole of it, and their counts.
    package struct Truth: Sendable {
        /// Place, sender and text of each message, oldest first.
        package var texts: [String]
        package var unread: Int64
        package var mentions: Int64
    }

    /// - Returns: nothing where the user sees no such conversation.
    package func truth(of conversation: ConversationID, for user: UserID) throws -> Truth? {
        let caller = Caller(user: user)
        guard let head = try? server.engine.head(of: conversation, by: caller) else { return nil }
        let query = HistoryQuery(.earliest, limit: 100, sort: .oldestFirst)
        let page = try server.engine.history(of: conversation, query, by: caller)
        return Truth(
            texts: page.messages.map { "\($0.seq) \($0.sender) \($0.text ?? "-")" }, unread: head.unread,
            mentions: head.mentions)
    }
}

extension ChatClient {
    /// Waits until this device knows every conversation of its user, or can't reach the server.
    fileprivate func arrived() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                for await list in recents.views(limit: 1) where list.isWhole { return }
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
