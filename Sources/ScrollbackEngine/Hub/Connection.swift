package import ScrollbackModel

/// Someone's open connection, as the hub sees it.
package protocol Connection: AnyObject, Sendable {
    var user: UserID { get }
    /// The thread it is served on.
    var lane: any Lane { get }
    /// Whether somebody looks at it: it is open, and did not say that it is in the background.
    var isInForeground: Bool { get }
    /// Whether it asked to hear a conversation.
    func hears(_ id: ConversationID) -> Bool
    /// Its user became a member of a conversation: it starts to hear it, and sees all above a place.
    func joined(_ id: ConversationID, seesAllAbove seq: Seq)
    /// Its user is no member any more: it stops hearing it and, of a community, its channels.
    func left(_ id: ConversationID)
    /// Its user sees less of some conversation: what it looked up before holds no more.
    func seesLess()
    func close(_ reason: CloseReason)
    /// As above, with words for the other side.
    func close(_ reason: CloseReason, _ text: String)
}

extension Connection {
    package var isInForeground: Bool { true }
    package func seesLess() {}
    package func close(_ reason: CloseReason, _ text: String) { close(reason) }
}

/// A thread that serves connections.
///
/// One frame for many of them costs one hand-over.
package protocol Lane: AnyObject, Sendable {
    /// Queues a frame for each of the connections, which are all this lane's. Never blocks: a connection whose queue is
    /// full is closed with 4008.
    ///
    /// - Parameter origin: a connection among them that gets no copy.
    func deliver(_ frame: [UInt8], to connections: [any Connection], except origin: Origin?)
    /// As above, of a message that a connection can do without whose queue is more than half full: it gets, later, the other
    /// frame in its place.
    func deliver(
        _ frame: [UInt8], to connections: [any Connection], except origin: Origin?, orElse substitute: HeadFrame)
}

extension Lane {
    package func deliver(
        _ frame: [UInt8], to connections: [any Connection], except origin: Origin?, orElse substitute: HeadFrame
    ) {
        deliver(frame, to: connections, except: origin)
    }
}

/// Why a server closes a connection.
package enum CloseReason: Int, Sendable {
    case badToken = 4001
    case tokenExpired = 4003
    /// It did not read fast enough: it comes back and resumes.
    case tooSlow = 4008
    /// The same device opened another connection.
    case replaced = 4009
    case signedOut = 4010
    case malformed = 4000
    case protocolError = 1002
    case frameTooLarge = 1009
    /// The server restarts: come back after a random wait.
    case restarting = 1012
    case unsupportedData = 1003
    case normal = 1000
}

/// The connections that hear one conversation, by lane.
///
/// A value: delivery works on a copy, and no lock is held for it.
struct Audience {
    private struct Group {
        var lane: any Lane
        var connections: [any Connection]
        /// Of each connection the place above which its user sees every message.
        var seesAllAbove: [Seq]
    }

    private var lanes: [Group] = []
    /// Above it everyone sees every message.
    private var highest: Seq = 0

    var isEmpty: Bool { lanes.isEmpty }
    var count: Int { lanes.reduce(0) { $0 + $1.connections.count } }

    func contains(_ connection: any Connection) -> Bool {
        lanes.contains { $0.lane === connection.lane && $0.connections.contains { $0 === connection } }
    }

    mutating func add(_ connection: any Connection, seesAllAbove seq: Seq) {
        highest = max(highest, seq)
        if let index = lanes.firstIndex(where: { $0.lane === connection.lane }) {
            guard !lanes[index].connections.contains(where: { $0 === connection }) else { return }
            lanes[index].connections.append(connection)
            lanes[index].seesAllAbove.append(seq)
        } else {
            lanes.append(Group(lane: connection.lane, connections: [connection], seesAllAbove: [seq]))
        }
    }

    mutating func remove(_ connection: any Connection) {
        guard let lane = lanes.firstIndex(where: { $0.lane === connection.lane }),
            let index = lanes[lane].connections.firstIndex(where: { $0 === connection })
        else { return }
        lanes[lane].connections.remove(at: index)
        lanes[lane].seesAllAbove.remove(at: index)
        if lanes[lane].connections.isEmpty { lanes.remove(at: lane) }
    }

    /// Nobody, or somebody, is sure to see what lies at or below a place any more.
    mutating func narrow(to seq: Seq, for user: UserID? = nil) {
        highest = max(highest, seq)
        for lane in lanes.indices {
            for (index, connection) in lanes[lane].connections.enumerated()
            where user.map({ $0 == connection.user }) ?? true {
                lanes[lane].seesAllAbove[index] = max(lanes[lane].seesAllAbove[index], seq)
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

    func deliver(_ frame: [UInt8], exceptOf users: Set<UserID>) {
        for group in lanes {
            let rest = group.connections.filter { !users.contains($0.user) }
            if !rest.isEmpty { group.lane.deliver(frame, to: rest, except: nil) }
        }
    }

    /// Hands a frame to those who are not in another audience, which had it already.
    func deliver(_ frame: [UInt8], except origin: Origin?, or others: Audience?) {
        let told = Set((others?.lanes ?? []).flatMap { lane in lane.connections.map { ObjectIdentifier($0) } })
        for group in lanes {
            let rest =
                told.isEmpty ? group.connections : group.connections.filter { !told.contains(ObjectIdentifier($0)) }
            if !rest.isEmpty { group.lane.deliver(frame, to: rest, except: origin) }
        }
    }

    func deliver(_ frame: [UInt8], to user: UserID, except origin: Origin?) {
        for group in lanes {
            let theirs = group.connections.filter { $0.user == user }
            if !theirs.isEmpty { group.lane.deliver(frame, to: theirs, except: origin) }
        }
    }

    /// Hands a frame about one place to those who are sure to see it, and another to the rest: of everyone, or of one user.
    func deliver(_ frame: [UInt8], about seq: Seq, to user: UserID?, orElse bare: @autoclosure () -> [UInt8]) {
        guard user != nil || seq <= highest else { return deliver(frame, except: nil) }
        let bare = seq <= highest ? bare() : []
        for group in lanes {
            var parts: (sure: [any Connection], rest: [any Connection]) = ([], [])
            for (connection, above) in zip(group.connections, group.seesAllAbove)
            where user.map({ $0 == connection.user }) ?? true {
                if above < seq { parts.sure.append(connection) } else { parts.rest.append(connection) }
            }
            if !parts.sure.isEmpty { group.lane.deliver(frame, to: parts.sure, except: nil) }
            if !parts.rest.isEmpty { group.lane.deliver(bare, to: parts.rest, except: nil) }
        }
    }
}
