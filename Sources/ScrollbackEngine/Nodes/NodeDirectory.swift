package import ScrollbackModel

/// A random number that identifies a node since its start.
package struct NodeID: Hashable, Sendable {
    package var bits: UInt64

    package init(bits: UInt64) {
        self.bits = bits
    }

    static func random() -> NodeID { NodeID(bits: .random(in: .min ... .max)) }
}

/// The state of a user's connections to one node.
package struct ConnectedUser: Hashable, Sendable {
    /// Whether a connection is in the foreground, so that the user needs no pushes.
    package var isInForeground: Bool
    /// Whether other users see the user as online.
    package var isOnline: Bool

    package init(isInForeground: Bool, isOnline: Bool) {
        self.isInForeground = isInForeground
        self.isOnline = isOnline
    }
}

/// The users who are connected to this node and to the other nodes.
///
/// Each node numbers the changes of its users and sends them, and its last number every second. A node that missed a
/// change requests all users of that node. A user without a known connection counts as offline. The users of a killed
/// node count as online for up to ten seconds. In this time, they may miss a push.
package struct NodeDirectory: Sendable {
    /// A message between the directories of the nodes.
    package enum Message: Hashable, Sendable {
        /// A user's connections to a node changed; `nil` if the user has none any more.
        case change(from: NodeID, number: Int64, UserID, ConnectedUser?)
        /// The number of a node's last change.
        case beat(from: NodeID, number: Int64)
        /// The node `to` must send all of its users.
        case request(to: NodeID)
        /// A part of all users of a node, as of the change `number`; the parts follow one another.
        case users(from: NodeID, number: Int64, part: Int, isLast: Bool, [UserID: ConnectedUser])
    }

    /// How often a node sends its last number, in seconds.
    package static let interval: Double = 1
    /// After how many seconds without a message a node counts as stopped.
    package static let lifetime: Double = 10
    /// The number of users in one message.
    static let usersPerMessage = 2_000

    private struct Other: Sendable {
        var number: Int64?
        var users: [UserID: ConnectedUser] = [:]
        /// Parts that were received, until the last one arrives.
        var parts: (number: Int64, count: Int, users: [UserID: ConnectedUser])?
        var messageAt: Double
        var info: NodeInfo?
    }

    package let own: NodeID
    private var users: [UserID: ConnectedUser] = [:]
    private var number: Int64 = 0
    private var others: [NodeID: Other] = [:]

    package init(own: NodeID) {
        self.own = own
    }

    // MARK: Own users

    /// Records the connections of a user to this node.
    ///
    /// - Returns: The message for the other nodes, or `nil` if nothing changed.
    package mutating func set(_ user: UserID, _ connected: ConnectedUser?) -> Message? {
        guard users[user] != connected else { return nil }
        users[user] = connected
        number += 1
        return .change(from: own, number: number, user, connected)
    }

    package var beat: Message { .beat(from: own, number: number) }

    private var all: [Message] {
        let sorted = users.sorted { $0.key < $1.key }
        let starts = Array(stride(from: 0, to: max(1, sorted.count), by: Self.usersPerMessage))
        return starts.enumerated().map { part, start in
            let some = sorted.dropFirst(start).prefix(Self.usersPerMessage)
            return .users(
                from: own, number: number, part: part, isLast: part == starts.count - 1,
                Dictionary(some.map { ($0.key, $0.value) }, uniquingKeysWith: { $1 }))
        }
    }

    // MARK: Other nodes

    /// Whether another node runs.
    package var hasOthers: Bool { !others.isEmpty }

    /// What the other nodes reported about themselves, sorted by name.
    package var infos: [NodeInfo] {
        others.values.compactMap(\.info).sorted { ($0.name, $0.id.bits) < ($1.name, $1.id.bits) }
    }

    /// Stores what another node reports about itself.
    ///
    /// - Parameter now: The time of a monotonic clock, in seconds.
    package mutating func receive(_ info: NodeInfo, now: Double) {
        guard info.id != own else { return }
        others[info.id, default: Other(messageAt: now)].info = info
        others[info.id]?.messageAt = now
    }

    /// Removes a node that has stopped.
    ///
    /// - Returns: The users who may have gone offline.
    package mutating func remove(_ node: NodeID) -> [UserID] {
        let users = others.removeValue(forKey: node)?.users ?? [:]
        return users.filter(\.value.isOnline).keys.sorted()
    }

    // MARK: Users of other nodes

    /// Whether a user has a connection to another node that is in the foreground.
    package func isInForegroundElsewhere(_ user: UserID) -> Bool {
        others.values.contains { $0.users[user]?.isInForeground == true }
    }

    package func isOnlineElsewhere(_ user: UserID) -> Bool {
        others.values.contains { $0.users[user]?.isOnline == true }
    }

    /// Handles a message from another node.
    ///
    /// - Parameter now: The time of a monotonic clock, in seconds.
    /// - Returns: The messages to send, and the users who may have gone online or offline elsewhere.
    package mutating func receive(_ message: Message, now: Double) -> (replies: [Message], changed: [UserID]) {
        switch message {
        case .request(let to): return (to == own ? all : [], [])
        case .beat(let node, let number):
            guard node != own else { return ([], []) }
            others[node, default: Other(messageAt: now)].messageAt = now
            return (others[node]?.number == number ? [] : [.request(to: node)], [])
        case .change(let node, let number, let user, let connected):
            // After a missed change, the next beat causes a request.
            guard var other = others[node], other.number == number - 1 else { return ([], []) }
            let wasOnline = other.users[user]?.isOnline == true
            other.number = number
            other.users[user] = connected
            other.messageAt = now
            others[node] = other
            return ([], wasOnline == (connected?.isOnline == true) ? [] : [user])
        case .users(let node, let number, let part, let isLast, let users):
            guard node != own else { return ([], []) }
            return ([], take(users, of: node, number, part, isLast: isLast, now))
        }
    }

    private mutating func take(
        _ users: [UserID: ConnectedUser], of node: NodeID, _ number: Int64, _ part: Int, isLast: Bool, _ now: Double
    ) -> [UserID] {
        var other = others[node] ?? Other(messageAt: now)
        other.messageAt = now
        defer { others[node] = other }
        // A later change was received in the meantime.
        if let known = other.number, known > number { return [] }
        if part == 0 { other.parts = (number, 0, [:]) }
        guard var parts = other.parts, parts.number == number, parts.count == part else { return [] }
        parts.count += 1
        parts.users.merge(users) { $1 }
        other.parts = isLast ? nil : parts
        guard isLast else { return [] }
        let before = other.users
        other.users = parts.users
        other.number = number
        return Set(before.keys).union(parts.users.keys)
            .filter { (before[$0]?.isOnline == true) != (parts.users[$0]?.isOnline == true) }.sorted()
    }

    /// Removes nodes that have sent nothing for some time.
    ///
    /// - Returns: The users who may have gone offline.
    package mutating func removeSilentNodes(now: Double) -> [UserID] {
        let silent = others.filter { now - $0.value.messageAt > Self.lifetime }
        for node in silent.keys { others[node] = nil }
        return Set(silent.values.flatMap { $0.users.filter(\.value.isOnline).keys }).sorted()
    }
}
