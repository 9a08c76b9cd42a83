package import ScrollbackModel

/// A user's open connection, as the hub uses it.
package protocol Connection: AnyObject, Sendable {
    var user: UserID { get }
    /// The thread that serves the connection.
    var lane: any ConnectionLane { get }
    /// Whether the connection is open and the client has not reported that it is in the background.
    var isInForeground: Bool { get }
    /// Returns whether the connection is subscribed to a conversation.
    func isSubscribed(to id: ConversationID) -> Bool
    /// Subscribes the connection to a conversation that its user joined.
    ///
    /// - Parameter seq: The sequence number above which the user can see every message.
    func joined(_ id: ConversationID, fullyVisibleAfter seq: Seq)
    /// Ends the subscription to a conversation and, for a community, to its channels, because the user left.
    func left(_ id: ConversationID)
    /// Invalidates earlier permission checks, because the user can see less of some conversation.
    func visibilityReduced()
    /// Closes the connection.
    func close(_ reason: CloseReason)
    /// Closes the connection with an explanation for the client.
    func close(_ reason: CloseReason, _ text: String)
}

extension Connection {
    package var isInForeground: Bool { true }
    package func visibilityReduced() {}
    package func close(_ reason: CloseReason, _ text: String) { close(reason) }
}

/// A thread that serves connections.
///
/// A frame for many of its connections is handed over once.
package protocol ConnectionLane: AnyObject, Sendable {
    /// Queues a frame for connections of this lane, without blocking.
    ///
    /// A connection whose queue is full is closed with code 4008.
    ///
    /// - Parameter origin: The connection, among these, that gets no copy.
    func deliver(_ frame: [UInt8], to connections: [any Connection], except origin: Origin?)
    /// Queues a frame for connections of this lane, with a substitute for slow connections.
    ///
    /// A connection whose queue is more than half full gets the substitute instead, later.
    func deliver(
        _ frame: [UInt8], to connections: [any Connection], except origin: Origin?, orElse substitute: HeadFrame)
}

extension ConnectionLane {
    package func deliver(
        _ frame: [UInt8], to connections: [any Connection], except origin: Origin?, orElse substitute: HeadFrame
    ) {
        deliver(frame, to: connections, except: origin)
    }
}

/// The reason why the server closes a connection.
package enum CloseReason: Int, Sendable {
    case badToken = 4001
    case tokenExpired = 4003
    /// The client did not read fast enough.
    ///
    /// It should reconnect and resume.
    case tooSlow = 4008
    /// The same device opened another connection.
    case replaced = 4009
    case signedOut = 4010
    /// The user has too many connections.
    ///
    /// The client should try again later.
    case tooManyConnections = 4029
    case protocolError = 1002
    case frameTooLarge = 1009
    /// The server restarts.
    ///
    /// The client should reconnect after a random delay.
    case restarting = 1012
    case unsupportedData = 1003
    case normal = 1000
}

/// The connections that are subscribed to one conversation, by lane.
///
/// This is a value type, so that delivery uses a copy without holding a lock.
struct Audience {
    private struct Group {
        var lane: any ConnectionLane
        var connections: [any Connection]
        /// For each connection, the sequence number above which its user can see every message.
        var fullyVisibleAfter: [Seq]
    }

    private var lanes: [Group] = []
    /// The sequence number above which all subscribers can see every message.
    private var highest: Seq = 0

    var isEmpty: Bool { lanes.isEmpty }
    var count: Int { lanes.reduce(0) { $0 + $1.connections.count } }

    func contains(_ connection: any Connection) -> Bool {
        lanes.contains { $0.lane === connection.lane && $0.connections.contains { $0 === connection } }
    }

    mutating func add(_ connection: any Connection, fullyVisibleAfter seq: Seq) {
        highest = max(highest, seq)
        if let index = lanes.firstIndex(where: { $0.lane === connection.lane }) {
            guard !lanes[index].connections.contains(where: { $0 === connection }) else { return }
            lanes[index].connections.append(connection)
            lanes[index].fullyVisibleAfter.append(seq)
        } else {
            lanes.append(Group(lane: connection.lane, connections: [connection], fullyVisibleAfter: [seq]))
        }
    }

    mutating func remove(_ connection: any Connection) {
        guard let lane = lanes.firstIndex(where: { $0.lane === connection.lane }),
            let index = lanes[lane].connections.firstIndex(where: { $0 === connection })
        else { return }
        lanes[lane].connections.remove(at: index)
        lanes[lane].fullyVisibleAfter.remove(at: index)
        if lanes[lane].connections.isEmpty { lanes.remove(at: lane) }
    }

    /// Raises the sequence number above which messages are visible, for one user or for all.
    mutating func reduceVisibility(to seq: Seq, for user: UserID? = nil) {
        highest = max(highest, seq)
        for lane in lanes.indices {
            for (index, connection) in lanes[lane].connections.enumerated()
            where user.map({ $0 == connection.user }) ?? true {
                lanes[lane].fullyVisibleAfter[index] = max(lanes[lane].fullyVisibleAfter[index], seq)
            }
        }
    }

    func deliver(_ frame: [UInt8], except origin: Origin?) {
        for group in lanes { group.lane.deliver(frame, to: group.connections, except: origin) }
    }

    func deliver(_ frame: [UInt8], except origin: Origin?, orElse substitute: HeadFrame?) {
        guard let substitute else { return deliver(frame, except: origin) }
        for group in lanes {
            group.lane.deliver(frame, to: group.connections, except: origin, orElse: substitute)
        }
    }

    func deliver(_ frame: [UInt8], excluding users: Set<UserID>) {
        for group in lanes {
            let rest = group.connections.filter { !users.contains($0.user) }
            if !rest.isEmpty { group.lane.deliver(frame, to: rest, except: nil) }
        }
    }

    /// Delivers a frame to the connections that are not in another audience, which already has the frame.
    func deliver(_ frame: [UInt8], except origin: Origin?, notIn others: Audience?) {
        let delivered = Set((others?.lanes ?? []).flatMap { lane in lane.connections.map { ObjectIdentifier($0) } })
        for group in lanes {
            let rest =
                delivered.isEmpty
                ? group.connections : group.connections.filter { !delivered.contains(ObjectIdentifier($0)) }
            if !rest.isEmpty { group.lane.deliver(frame, to: rest, except: origin) }
        }
    }

    func deliver(_ frame: [UInt8], to user: UserID, except origin: Origin?) {
        for group in lanes {
            let theirs = group.connections.filter { $0.user == user }
            if !theirs.isEmpty { group.lane.deliver(frame, to: theirs, except: origin) }
        }
    }

    /// Delivers one frame to subscribers who can see a sequence number and another to the rest, for one user or for
    /// all.
    func deliver(_ frame: [UInt8], about seq: Seq, to user: UserID?, orElse headOnly: @autoclosure () -> [UInt8]) {
        guard user != nil || seq <= highest else { return deliver(frame, except: nil) }
        let headOnly = seq <= highest ? headOnly() : []
        for group in lanes {
            var parts: (allowed: [any Connection], rest: [any Connection]) = ([], [])
            for (connection, above) in zip(group.connections, group.fullyVisibleAfter)
            where user.map({ $0 == connection.user }) ?? true {
                if above < seq { parts.allowed.append(connection) } else { parts.rest.append(connection) }
            }
            if !parts.allowed.isEmpty { group.lane.deliver(frame, to: parts.allowed, except: nil) }
            if !parts.rest.isEmpty { group.lane.deliver(headOnly, to: parts.rest, except: nil) }
        }
    }
}
