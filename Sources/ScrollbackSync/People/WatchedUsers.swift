package import ScrollbackModel

/// What the owner of ``WatchedUsers`` must do.
package enum PresenceAction: Hashable, Sendable {
    /// Request the presence of these users and its changes; report an error with ``WatchedUsers/failed(_:)``.
    case request([UserID])
    /// End the server's notifications about these users.
    case end([UserID])
}

/// The state machine for the users whose presence the app observes.
///
/// The app can observe a user several times. The server notifies the client once, until the last observer ends.
package struct WatchedUsers: Sendable {
    /// The maximum number of users in a request.
    private let limit: Int
    /// The number of the app's observers by user.
    private var counts: [UserID: Int] = [:]
    /// Whether a request failed temporarily.
    private var retries = false

    package init(limit: Int) {
        self.limit = limit
    }

    package func contains(_ user: UserID) -> Bool { counts[user] != nil }

    /// Handles a new connection, which requests all users again.
    package func connected() -> [PresenceAction] {
        request(counts.keys.sorted())
    }

    package mutating func disconnected() {
        retries = false
    }

    /// Adds an observer of each user.
    package mutating func add(_ users: Set<UserID>) -> [PresenceAction] {
        let new = users.filter { counts[$0] == nil }
        for user in users { counts[user, default: 0] += 1 }
        return request(new.sorted())
    }

    /// Removes an observer of each user who has one.
    package mutating func remove(_ users: Set<UserID>) -> [PresenceAction] {
        let last = users.filter { counts[$0] == 1 }
        for user in users { counts[user] = counts[user].flatMap { $0 > 1 ? $0 - 1 : nil } }
        return last.sorted().chunks(of: limit).map { .end($0) }
    }

    /// Handles an error, which is retried at the next ``tick()`` if it is temporary.
    package mutating func failed(_ error: ChatError) {
        if error.isTemporary { retries = true }
    }

    /// Repeats failed requests.
    package mutating func tick() -> [PresenceAction] {
        guard retries else { return [] }
        retries = false
        return request(counts.keys.sorted())
    }

    private func request(_ users: [UserID]) -> [PresenceAction] {
        users.chunks(of: limit).map { .request($0) }
    }
}
