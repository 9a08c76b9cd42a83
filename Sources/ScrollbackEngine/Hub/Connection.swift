package import ScrollbackModel

/// Someone's open connection, as the hub sees it.
package protocol Connection: AnyObject, Sendable {
    var user: UserID { get }
    /// The thread it is served on.
    var lane: any Lane { get }
    /// Its user became a member of a conversation: it starts to hear it.
    func joined(_ id: ConversationID)
    /// Its user is no member any more: it stops hearing it and, of a community, its channels.
    func left(_ id: ConversationID)
    func close(_ reason: CloseReason)
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
    private var lanes: [(lane: any Lane, connections: [any Connection])] = []

    var isEmpty: Bool { lanes.isEmpty }

    func contains(_ connection: any Connection) -> Bool {
        lanes.contains { $0.lane === connection.lane && $0.connections.contains { $0 === connection } }
    }

    mutating func add(_ connection: any Connection) {
        if let index = lanes.firstIndex(where: { $0.lane === connection.lane }) {
            guard !lanes[index].connections.contains(where: { $0 === connection }) else { return }
            lanes[index].connections.append(connection)
        } else {
            lanes.append((connection.lane, [connection]))
        }
    }

    mutating func remove(_ connection: any Connection) {
        guard let index = lanes.firstIndex(where: { $0.lane === connection.lane }) else { return }
        lanes[index].connections.removeAll { $0 === connection }
        if lanes[index].connections.isEmpty { lanes.remove(at: index) }
    }

    func deliver(_ frame: [UInt8], except origin: Origin?) {
        for (lane, connections) in lanes { lane.deliver(frame, to: connections, except: origin) }
    }

    /// Hands a frame to those who are not in another audience, which had it already.
    func deliver(_ frame: [UInt8], except origin: Origin?, or others: Audience?) {
        let told = Set((others?.lanes ?? []).flatMap { lane in lane.connections.map { ObjectIdentifier($0) } })
        for (lane, connections) in lanes {
            let rest = told.isEmpty ? connections : connections.filter { !told.contains(ObjectIdentifier($0)) }
            if !rest.isEmpty { lane.deliver(frame, to: rest, except: origin) }
        }
    }

    func deliver(_ frame: [UInt8], to user: UserID, except origin: Origin?) {
        for (lane, connections) in lanes {
            let theirs = connections.filter { $0.user == user }
            if !theirs.isEmpty { lane.deliver(frame, to: theirs, except: origin) }
        }
    }
}
