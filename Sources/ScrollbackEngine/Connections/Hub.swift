package import Foundation
package import ScrollbackModel
import ScrollbackWire
import Synchronization

/// Distributes events to connections.
///
/// The store's writer passes the events of each commit in order. The hub finds the subscribed connections and gives
/// each ``ConnectionLane`` one frame for all of its connections.
///
/// Subscriptions are sharded by conversation, so that subscribing does not wait for deliveries to other conversations.
package final class Hub: Sendable {
    private static let shardCount = 32

    private let shards: [Shard]
    private let connectionsByUser = Mutex<[UserID: [any Connection]]>([:])
    private let connectionCount = Atomic<Int>(0)
    private let currentAccessVersion = Atomic<Int>(0)
    /// The channels with new heads of which their community's members have not been notified yet.
    private let channelsWithNewHeads = Mutex<[ConversationID: HeadAnnouncement]>([:])
    /// The checkpoint of the newest commit whose events were published.
    private let latestCheckpoint = Mutex<String?>(nil)
    let rooms = RoomRateLimits()
    let typing = TypingRateLimiter()
    let clock: @Sendable () -> Date

    private final class Shard: Sendable {
        let audiences = Mutex<[ConversationID: Audience]>([:])
    }

    package init(clock: @escaping @Sendable () -> Date = { Date() }) {
        self.clock = clock
        shards = (0..<Self.shardCount).map { _ in Shard() }
    }

    private func shard(_ id: ConversationID) -> Shard {
        shards[Int(UInt(bitPattern: id.hashValue) % UInt(Self.shardCount))]
    }

    // MARK: Subscriptions

    /// Returns the number of a new connection, in the order in which connections are accepted.
    func nextConnectionNumber() -> Int { connectionCount.add(1, ordering: .relaxed).newValue }

    /// Registers a connection of a user.
    ///
    /// - Parameter isCurrent: Whether the connection may be registered. ``closeAll(_:_:where:)`` waits for its end, and
    ///   then closes the connection, too.
    /// - Returns: The connections registered before; `nil` if `isCurrent` returned `false`. If two connections of one
    ///   device open at once, exactly one of them finds the other.
    @discardableResult
    package func add(_ connection: any Connection, if isCurrent: () -> Bool = { true }) -> [any Connection]? {
        let user = connection.user
        return connectionsByUser.withLock { connectionsByUser in
            guard isCurrent() else { return nil }
            let before = connectionsByUser[user] ?? []
            connectionsByUser[user] = before + [connection]
            return before
        }
    }

    package func remove(_ connection: any Connection) {
        let user = connection.user
        connectionsByUser.withLock { connectionsByUser in
            connectionsByUser[user]?.removeAll { $0 === connection }
            if connectionsByUser[user]?.isEmpty == true { connectionsByUser[user] = nil }
        }
    }

    package func connections(of user: UserID) -> [any Connection] {
        connectionsByUser.withLock { $0[user] ?? [] }
    }

    /// Returns whether the user has no connection in the foreground.
    func isAway(_ user: UserID) -> Bool { !connections(of: user).contains(where: \.isInForeground) }

    /// Returns connected users ordered by ID: at most `limit`, starting with `first` or only `first`.
    func users(from first: UserID?, isOnly: Bool, limit: Int) -> [UserID] {
        let names = connectionsByUser.withLock { connectionsByUser in
            guard let first else { return Array(connectionsByUser.keys) }
            return isOnly
                ? (connectionsByUser[first] == nil ? [] : [first]) : connectionsByUser.keys.filter { $0 >= first }
        }
        return Array(names.sorted().prefix(limit))
    }

    /// A counter that increases whenever subscribers of a conversation are dismissed or their visible history is
    /// reduced.
    package var accessVersion: Int { currentAccessVersion.load(ordering: .sequentiallyConsistent) }

    /// Subscribes a connection to a conversation.
    ///
    /// - Parameter version: The value of ``accessVersion`` before the permission check.
    /// - Returns: Whether the connection is subscribed; `false` if ``accessVersion`` increased since, for any
    ///   conversation.
    @discardableResult
    package func subscribe(
        _ connection: any Connection, to id: ConversationID, fullyVisibleAfter seq: Seq, since version: Int? = nil
    ) -> Bool {
        shard(id).audiences.withLock { audiences in
            if let version, version != accessVersion { return false }
            audiences[id, default: Audience()].add(connection, fullyVisibleAfter: seq)
            return true
        }
    }

    /// Subscribes a connection as ``subscribe(_:to:fullyVisibleAfter:since:)`` does, if the capacity allows it.
    ///
    /// - Throws: `room-full`.
    package func subscribe(
        _ connection: any Connection, to id: ConversationID, fullyVisibleAfter seq: Seq, since version: Int,
        capacity: Int64
    ) throws(ChatError) -> Bool {
        let isSubscribed: Bool? = shard(id).audiences.withLock { audiences in
            if version != accessVersion { return false }
            let audience = audiences[id] ?? Audience()
            guard audience.contains(connection) || audience.count < capacity else { return nil }
            audiences[id, default: Audience()].add(connection, fullyVisibleAfter: seq)
            return true
        }
        guard let isSubscribed else {
            throw ChatError(
                .roomFull, "\(id) has reached its capacity of \(capacity).", limit: Int(capacity), retryAfter: 10)
        }
        return isSubscribed
    }

    package func unsubscribe(_ connection: any Connection, from id: ConversationID) {
        shard(id).audiences.withLock { audiences in
            audiences[id]?.remove(connection)
            if audiences[id]?.isEmpty == true { audiences[id] = nil }
        }
    }

    /// Removes all subscribers of a conversation.
    private func unsubscribeAll(from id: ConversationID) {
        // The counter increases first. A concurrent subscription then either fails or exists already and is removed.
        currentAccessVersion.add(1, ordering: .sequentiallyConsistent)
        shard(id).audiences.withLock { $0[id] = nil }
        channelsWithNewHeads.withLock { $0[id] = nil }
    }

    /// Whether the hub has no connections and no subscriptions; used by tests.
    package var isEmpty: Bool {
        connectionsByUser.withLock { $0.isEmpty } && shards.allSatisfy { $0.audiences.withLock { $0.isEmpty } }
    }

    func audience(of id: ConversationID) -> Audience? {
        shard(id).audiences.withLock { $0[id] }
    }

    // MARK: Events

    /// Delivers the events of a commit.
    ///
    /// - Parameter checkpoint: The checkpoint of the commit, which each frame carries.
    package func publish(_ events: [Event], checkpoint: String? = nil) {
        if let checkpoint { latestCheckpoint.withLock { $0 = checkpoint } }
        for event in events { publish(event) }
    }

    /// Forgets the checkpoint and the heads of the last lineage, so that no connection of the next one receives them.
    func forgetLineage() {
        latestCheckpoint.withLock { $0 = nil }
        channelsWithNewHeads.withLock { $0 = [:] }
        _ = rooms.takePendingHeads()
    }

    /// Encodes an event with the checkpoint of the newest published commit.
    ///
    /// Every event that reports stored data must be encoded here.
    func frame(_ event: ServerEvent) -> [UInt8] {
        event.encoded(checkpoint: latestCheckpoint.withLock { $0 })
    }

    /// The number of connections whose users are known.
    var openConnectionCount: Int { connectionsByUser.withLock { $0.values.reduce(0) { $0 + $1.count } } }

    /// Closes all connections, or some of them.
    func closeAll(_ reason: CloseReason, _ text: String, where isIncluded: (any Connection) -> Bool = { _ in true }) {
        let all = connectionsByUser.withLock { $0.values.flatMap(\.self) }
        for connection in all where isIncluded(connection) { connection.close(reason, text) }
    }

    private func publish(_ event: Event) {
        switch event {
        case .message(let message, let notifiesCommunity, let origin):
            deliver(message, notifiesCommunity: notifiesCommunity, except: origin)
        case .changed(let id, let change, let head, let notifiesCommunity):
            deliverChange(change, in: id, head.after(change), notifiesCommunity: notifiesCommunity)
        case .hidden(let places, let change): deliverHidden(places, change)
        case .visibilityReduced(let id, let head):
            // The counter increases first, as in `unsubscribeAll(from:)`.
            currentAccessVersion.add(1, ordering: .sequentiallyConsistent)
            shard(id).audiences.withLock { $0[id]?.reduceVisibility(to: head) }
        case .headChanged(let id, let head, let notifiesCommunity):
            deliver(id) { head.event($0) }
            if notifiesCommunity { recordHead(head, of: id) }
        case .transient(let message, let origin): deliver(message, except: origin)
        case .ownStateChanged(let change):
            let name = change.conversation.relative(to: change.user)
            send(.read(name, change.summary), to: connections(of: change.user))
            sendReadReceipt(of: change)
        case .ownStatesChanged(let changes): deliverOwnStates(changes)
        case .delivered(let id, let user, let seq): sendDelivered(id, user, seq)
        case .thread(let id, let user, let state):
            send(.thread(id.relative(to: user), state), to: connections(of: user))
        case .draft(let draft, let user): send(.draft(draft), to: connections(of: user))
        case .joined(let id, let user, let role, let seq): deliverJoined(user, role, to: id, fullyVisibleAfter: seq)
        case .left(let id, let user): deliverLeft(user, from: id)
        case .memberStateChanged(let id, let user):
            send(.conversation(id.relative(to: user), isDeleted: false), to: connections(of: user))
        case .conversationChanged(let id): deliver(id) { .conversation($0, isDeleted: false) }
        case .conversationDeleted(let id):
            deliver(id) { .conversation($0, isDeleted: true) }
            unsubscribeAll(from: id)
        case .madePrivate(let id, let members): makePrivate(id, members)
        case .userChanged(let profile): send(.user(profile), to: connections(of: profile.id))
        case .invited(let invitation): send(.invitation(invitation), to: connections(of: invitation.user))
        case .invitationEnded(let id, let user): send(.invitationEnded(id), to: connections(of: user))
        case .tokensRevoked(let user):
            for connection in connections(of: user) { connection.close(.signedOut) }
        case .accessRevoked(let user, let error):
            for connection in connections(of: user) { connection.close(.signedOut, "\(error)") }
        case .banned(let id, let user):
            let subscribers = connections(of: user).filter { $0.isSubscribed(to: id) }
            for connection in connections(of: user) { connection.left(id) }
            send(.member(id, user, nil), to: subscribers)
        case .reported, .acted, .moderated, .incarnationBegan, .settingsChanged, .scheduled, .erasureBegan,
            .erasureEnded:
            break
        }
    }

    private func deliver(_ message: Message, notifiesCommunity: Bool, except origin: Origin?) {
        let id = message.conversation
        if id.kind.traits.streamsUnderLoadByPriority { return deliverRoomMessage(message, except: origin) }
        // The head is recorded last, because another thread may announce it at any time.
        defer { if notifiesCommunity { recordHead(HeadAnnouncement(message), of: id) } }
        var named = message
        deliver(id, except: origin) { name in
            named.conversation = name
            return .message(named)
        }
        if notifiesCommunity { deliverToAffectedUsers(message, named: id, except: origin) }
    }

    private func deliver(_ message: TransientMessage, except origin: Origin?) {
        guard shouldDeliver(message, except: origin) else { return }
        var named = message
        deliver(message.conversation, except: origin) { name in
            named.conversation = name
            return .transient(named)
        }
    }

    private func deliverChange(
        _ change: LogChange, in id: ConversationID, _ head: HeadAnnouncement, notifiesCommunity: Bool
    ) {
        defer { if notifiesCommunity { recordHead(head, of: id) } }
        guard shouldDeliver(change, in: id, head) else { return }
        deliver(change, id, head)
    }

    /// Delivers the ranges of messages that a user hid from their own view, and narrows the subscriptions of the user's
    /// devices.
    private func deliverHidden(_ places: [SeqRange], _ change: OwnStateChange) {
        let places = places.sorted { $0.lowerBound < $1.lowerBound }
        let devices = connections(of: change.user)
        // The devices are updated first. A concurrent subscription then either fails or exists already and is
        // narrowed.
        for device in devices { device.visibilityReduced() }
        if let last = places.last?.upperBound {
            shard(change.conversation).audiences.withLock {
                $0[change.conversation]?.reduceVisibility(to: last, for: change.user)
            }
        }
        let name = change.conversation.relative(to: change.user)
        send(.hidden(name, change.summary.epoch, places), to: devices)
        send(.read(name, change.summary), to: devices)
    }

    private func deliverJoined(_ user: UserID, _ role: Role, to id: ConversationID, fullyVisibleAfter seq: Seq) {
        for connection in connections(of: user) { connection.joined(id, fullyVisibleAfter: seq) }
        guard id.kind.traits.membership != .named else {
            // The name lists the members, and a user's own settings are not for the other user to see.
            return send(.member(id.relative(to: user), user, role), to: connections(of: user))
        }
        deliver(id) { .member($0, user, role) }
    }

    private func deliverLeft(_ user: UserID, from id: ConversationID) {
        // The connections are unsubscribed first; then the user and the remaining subscribers are notified.
        for connection in connections(of: user) { connection.left(id) }
        send(.member(id.relative(to: user), user, nil), to: connections(of: user))
        deliver(id) { .member($0, user, nil) }
    }

    /// Unsubscribes all connections from a channel, and subscribes those of its members again.
    private func makePrivate(_ id: ConversationID, _ members: [UserID: Seq]) {
        deliver(id) { .resync($0) }
        unsubscribeAll(from: id)
        for (user, seq) in members {
            for connection in connections(of: user) { connection.joined(id, fullyVisibleAfter: seq) }
        }
    }

    /// Records a channel's new head until its community's members are notified.
    private func recordHead(_ head: HeadAnnouncement, of id: ConversationID) {
        channelsWithNewHeads.withLock { heads in
            if heads[id]?.merge(head) == nil { heads[id] = head }
        }
    }

    /// Delivers a message to users it concerns who are not subscribed to the channel.
    ///
    /// These are the sender's other devices, which must not count the message as unread, and mentioned users.
    private func deliverToAffectedUsers(_ message: Message, named id: ConversationID, except origin: Origin?) {
        let subscribers = audience(of: id)
        if message.attributes.mentions?.everyone == true, let community = id.community {
            audience(of: community)?.deliver(frame(.message(message)), except: origin, notIn: subscribers)
            return
        }
        let users = Set(message.attributes.mentions?.users ?? []).union([message.sender])
        let members = id.community.flatMap { audience(of: $0) }
        for user in users.sorted() {
            let concerned = connections(of: user).filter { connection in
                Origin(connection) != origin && members?.contains(connection) == true
                    && subscribers?.contains(connection) != true
            }
            send(.message(message), to: concerned)
        }
    }

    /// Delivers an event to all subscribers of a conversation, encoded once per relative name.
    private func deliver(
        _ id: ConversationID, except origin: Origin? = nil, _ event: (_ name: ConversationID) -> ServerEvent
    ) {
        guard let audience = audience(of: id) else { return }
        let names = id.namedUsers
        guard !names.isEmpty else { return audience.deliver(frame(event(id)), except: origin) }
        for user in names {
            audience.deliver(frame(event(id.relative(to: user))), to: user, except: origin)
        }
    }

    /// Delivers a change to subscribers who can see the message; the others receive the new head and fetch the rest.
    private func deliver(_ change: LogChange, _ id: ConversationID, _ head: HeadAnnouncement) {
        guard let audience = audience(of: id) else { return }
        guard case .message(var message) = change else {
            return deliver(id) { .changed($0, head.epoch, change) }
        }
        let names = id.namedUsers.map { (user: UserID?.some($0), name: id.relative(to: $0)) }
        for (user, name) in names.isEmpty ? [(nil, id)] : names {
            message.conversation = name
            audience.deliver(
                frame(.changed(name, head.epoch, .message(message))), about: message.seq, to: user,
                orElse: frame(head.event(name)))
        }
    }

    func send(_ event: ServerEvent, to connections: [any Connection]) {
        guard !connections.isEmpty else { return }
        let frame = frame(event)
        for connection in connections { connection.lane.deliver(frame, to: [connection], except: nil) }
    }

    /// Notifies members of communities of new channel heads, and subscribers of rooms of heads they have not received.
    ///
    /// Each channel is reported once, however many messages it got. Call this a few times per second.
    package func announceChannelHeads() {
        deliverPendingHeads()
        let heads = channelsWithNewHeads.withLock { heads in
            defer { heads = [:] }
            return heads
        }
        for (id, head) in heads {
            guard let community = id.community, let members = audience(of: community) else { continue }
            guard let last = head.last else {
                members.deliver(frame(head.event(id)), except: nil)
                continue
            }
            // Users who joined after the message was sent receive the head without the message.
            members.deliver(
                frame(head.event(id)), about: last.timetoken.span, to: nil,
                orElse: frame(head.withoutMessage.event(id)))
        }
    }
}
