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
final class PresenceBoard: Sendable {
    /// How long a user must be offline before watchers are notified, in seconds, so that short reconnects stay
    /// unnoticed.
    static let grace: TimeInterval = 5
    private static let shardCount = 32

    private let shards = (0..<shardCount).map { _ in Shard() }
    private let telling = Mutex(Telling())

    private final class Shard: Sendable {
        let state = Mutex(State())

        struct State {
            var people: [UserID: Person] = [:]
            /// Offline users whose watchers have not been notified yet.
            var leaving: Set<UserID> = []
        }
    }

    private struct Person {
        /// The connections in the foreground that share the user's presence.
        var active: Set<ObjectIdentifier> = []
        /// When the last of those connections went away, until watchers are notified.
        var leftAt: Date?
        /// The presence that watchers were notified of.
        var isOnline = false
        var watchers: [ObjectIdentifier: any Connection] = [:]

        var isNobody: Bool { active.isEmpty && leftAt == nil && !isOnline && watchers.isEmpty }
    }

    private struct Telling {
        var steps: [@Sendable () -> Void] = []
        var isRunning = false
    }

    private func shard(_ user: UserID) -> Shard {
        shards[Int(UInt(bitPattern: user.hashValue) % UInt(Self.shardCount))]
    }

    private func change<Answer>(_ user: UserID, _ body: (inout Person) -> Answer) -> Answer {
        shard(user).state.withLock { state in
            var person = state.people[user] ?? Person()
            let answer = body(&person)
            state.people[user] = person.isNobody ? nil : person
            if person.leftAt == nil { state.leaving.remove(user) } else { state.leaving.insert(user) }
            return answer
        }
    }

    /// Whether the board is empty; used by tests.
    var isEmpty: Bool { shards.allSatisfy { $0.state.withLock { $0.people.isEmpty && $0.leaving.isEmpty } } }

    // MARK: Presence

    /// Records a connection in the foreground that shares the user's presence.
    ///
    /// - Returns: Whether the user was offline before.
    func came(_ connection: any Connection) -> Bool {
        change(connection.user) { person in
            person.active.insert(ObjectIdentifier(connection))
            person.leftAt = nil
            defer { person.isOnline = true }
            return !person.isOnline
        }
    }

    /// Records that a connection moved to the background or closed.
    func went(_ connection: any Connection, now: Date) {
        change(connection.user) { person in
            guard person.active.remove(ObjectIdentifier(connection)) != nil, person.active.isEmpty else { return }
            person.leftAt = now
        }
    }

    /// Returns the users whose watchers are to be notified that they are offline, with the time when they went offline.
    ///
    /// - Parameter grace: How long a user must have been offline; a negative value includes all, when the server stops.
    func takeGone(now: Date, grace: TimeInterval = PresenceBoard.grace) -> [(user: UserID, at: Date)] {
        var gone: [(user: UserID, at: Date)] = []
        for shard in shards {
            shard.state.withLock { state in
                for user in state.leaving {
                    guard var person = state.people[user], let leftAt = person.leftAt, leftAt + grace <= now else {
                        continue
                    }
                    gone.append((user, leftAt))
                    person.leftAt = nil
                    person.isOnline = false
                    state.people[user] = person.isNobody ? nil : person
                    state.leaving.remove(user)
                }
            }
        }
        return gone
    }

    func isOnline(_ user: UserID) -> Bool {
        shard(user).state.withLock { $0.people[user]?.isOnline ?? false }
    }

    // MARK: Watching

    func watch(_ user: UserID, by connection: any Connection) {
        change(user) { $0.watchers[ObjectIdentifier(connection)] = connection }
    }

    func unwatch(_ user: UserID, by connection: any Connection) {
        change(user) { $0.watchers[ObjectIdentifier(connection)] = nil }
    }

    func watchers(of user: UserID) -> [any Connection] {
        shard(user).state.withLock { $0.people[user].map { Array($0.watchers.values) } ?? [] }
    }

    // MARK: Notifying

    /// Queues a step that runs with the next call of `tell(_:)`.
    func tellLater(_ step: @escaping @Sendable () -> Void) {
        telling.withLock { $0.steps.append(step) }
    }

    /// Runs a step after all queued steps, unless another thread is running the queue, which then runs this step too.
    func tell(_ step: @escaping @Sendable () -> Void) {
        let runs = telling.withLock { telling in
            telling.steps.append(step)
            defer { telling.isRunning = true }
            return !telling.isRunning
        }
        guard runs else { return }
        while case let steps = telling.withLock({ telling in
            defer { telling.steps = [] }
            telling.isRunning = !telling.steps.isEmpty
            return telling.steps
        }), !steps.isEmpty {
            for step in steps { step() }
        }
    }
}
