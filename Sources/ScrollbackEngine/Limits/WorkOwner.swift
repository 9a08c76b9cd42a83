package import ScrollbackModel
package import ScrollbackWire

/// Whose work something is, so that one user's work can't delay the work of others.
package enum WorkOwner: Hashable, Sendable {
    case user(UserID)
    /// A user with an administrator's token, typically the app's own backend.
    case administrator(UserID)
    /// The holders of links to one file. A link names its creator, who must not pay for its use.
    case link(MediaID)
    /// The programs that post through one incoming webhook.
    case hook(Identifier)
    /// The clients of one address that are not authenticated yet.
    case address(String)
    /// The server itself.
    case server

    package init(_ caller: Caller) {
        self = caller.isAdmin ? .administrator(caller.user) : .user(caller.user)
    }

    /// Whether the rate limits and the bounds for one user apply.
    package var isLimited: Bool {
        switch self {
        case .user, .link, .hook, .address: true
        case .administrator, .server: false
        }
    }
}

/// A group of threads that run work that may wait for the disk.
package enum WorkPool: String, CaseIterable, Sendable {
    /// Checks whether a user may connect, and opens connections. It never waits behind reads.
    case admission
    /// Reads whose cost has a bound.
    case read
    /// Searches and exports.
    case search
    /// Reads and writes of media files.
    case file
}

extension CostClass {
    /// The threads that serve operations of this class.
    package var pool: WorkPool { self == .search ? .search : .read }
}

/// Runs work that may wait for the disk on a thread of a pool.
package typealias PoolOffload = @Sendable (WorkPool, WorkOwner, @escaping @Sendable () -> Void) -> Void
