import Foundation
import ScrollbackModel
import ScrollbackWire
import Synchronization

/// The users who are online, and the connections that watch them.
///
/// The board has only users who are or recently were online, and watched users. It is sharded by user.
///
/// Notifications go through one queue, and each step reads the presence when it runs. For one user, a later change is
/// therefore never reported before an earlier one. The queue runs on the first caller's thread, which must be allowed
/// to block on the store.
final class PresenceTracker: Sendable {
    /// How long a user must be offline before watchers are notified, in seconds, so that short reconnects stay
    /// unnoticed.
    static let grace: TimeInterval = 5
    private static let shardCount = 32

    private let shards = (0..<shardCount).map { _ in Shard() }
    private let notificationQueue = Mutex(NotificationQueue())

    private final class Shard: Sendable {
        let state = Mutex(State())

        struct State {
            var entries: [UserID: Entry] = [:]
            /// Offline users whose watchers have not been notified yet.
            var pendingOffline: Set<UserID> = []
        }
    }

    private struct Entry {
        /// The connections in the foreground that share the user's presence.
        var active: Set<ObjectIdentifier> = []
        /// When the last of those connections went away, until watchers are notified.
        var offlineSince: Date?
        /// The presence that watchers were notified of.
        var isOnline = false
        var watchers: [ObjectIdentifier: any Connection] = [:]

        var isEmpty: Bool { active.isEmpty && offlineSince == nil && !isOnline && watchers.isEmpty }
    }

    private struct NotificationQueue {
        var steps: [@Sendable () -> Void] = []
        var isRunning = false
    }

    private func shard(_ user: UserID) -> Shard {
        shards[Int(UInt(bitPattern: user.hashValue) % UInt(Self.shardCount))]
    }

    private func change<Answer>(_ user: UserID, _ body: (inout Entry) -> Answer) -> Answer {
        shard(user).state.withLock { state in
            var entry = state.entries[user] ?? Entry()
            let answer = body(&entry)
            state.entries[user] = entry.isEmpty ? nil : entry
            if entry.offlineSince == nil {
                state.pendingOffline.remove(user)
            } else {
                state.pendingOffline.insert(user)
            }
            return answer
        }
    }

    /// Whether the board is empty; used by tests.
    var isEmpty: Bool { shards.allSatisfy { $0.state.withLock { $0.entries.isEmpty && $0.pendingOffline.isEmpty } } }

    // MARK: Presence

    /// Records a connection in the foreground that shares the user's presence.
    ///
    /// - Returns: Whether the user was offline before.
    func connected(_ connection: any Connection) -> Bool {
        change(connection.user) { entry in
            entry.active.insert(ObjectIdentifier(connection))
            entry.offlineSince = nil
            defer { entry.isOnline = true }
            return !entry.isOnline
        }
    }

    /// Records that a connection moved to the background or closed.
    func disconnected(_ connection: any Connection, now: Date) {
        change(connection.user) { entry in
            guard entry.active.remove(ObjectIdentifier(connection)) != nil, entry.active.isEmpty else { return }
            entry.offlineSince = now
        }
    }

    /// Returns the users whose watchers are to be notified that they are offline, with the time when they went offline.
    ///
    /// - Parameter grace: How long a user must have been offline; a negative value includes all, when the server stops.
    func takeOfflineUsers(now: Date, grace: TimeInterval = PresenceTracker.grace) -> [(user: UserID, at: Date)] {
        var gone: [(user: UserID, at: Date)] = []
        for shard in shards {
            shard.state.withLock { state in
                for user in state.pendingOffline {
                    guard var entry = state.entries[user], let offlineSince = entry.offlineSince,
                        offlineSince + grace <= now
                    else {
                        continue
                    }
                    gone.append((user, offlineSince))
                    entry.offlineSince = nil
                    entry.isOnline = false
                    state.entries[user] = entry.isEmpty ? nil : entry
                    state.pendingOffline.remove(user)
                }
            }
        }
        return gone
    }

    func isOnline(_ user: UserID) -> Bool {
        shard(user).state.withLock { $0.entries[user]?.isOnline ?? false }
    }

    // MARK: Watching

    func watch(_ user: UserID, by connection: any Connection) {
        change(user) { $0.watchers[ObjectIdentifier(connection)] = connection }
    }

    func unwatch(_ user: UserID, by connection: any Connection) {
        change(user) { $0.watchers[ObjectIdentifier(connection)] = nil }
    }

    func watchers(of user: UserID) -> [any Connection] {
        shard(user).state.withLock { $0.entries[user].map { Array($0.watchers.values) } ?? [] }
    }

    // MARK: Notifying

    /// Queues a step that runs with the next call of `runNotification(_:)`.
    func enqueueNotification(_ step: @escaping @Sendable () -> Void) {
        notificationQueue.withLock { $0.steps.append(step) }
    }

    /// Runs a step after all queued steps, unless another thread is running the queue, which then runs this step too.
    func runNotification(_ step: @escaping @Sendable () -> Void) {
        let runs = notificationQueue.withLock { notificationQueue in
            notificationQueue.steps.append(step)
            defer { notificationQueue.isRunning = true }
            return !notificationQueue.isRunning
        }
        guard runs else { return }
        while case let steps = notificationQueue.withLock({ notificationQueue in
            defer { notificationQueue.steps = [] }
            notificationQueue.isRunning = !notificationQueue.steps.isEmpty
            return notificationQueue.steps
        }), !steps.isEmpty {
            for step in steps { step() }
        }
    }
}
