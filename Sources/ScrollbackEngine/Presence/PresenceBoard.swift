import Foundation
import ScrollbackModel
import ScrollbackWire
import Synchronization

/// Who is there, and who wants to hear of it.
///
/// It knows of those who are there or were until a moment ago, and of those somebody watches; nothing of anybody else.
/// Sharded by user.
///
/// What is told goes through one queue, in which each step looks at what is so by then: of two changes of one person, the
/// later one is never told first. The queue is worked off by whoever comes first, on a thread that may wait for the store.
final class PresenceBoard: Sendable {
    /// How long somebody may be away before it is told: a connection that is lost and comes back says nothing.
    static let grace: TimeInterval = 5
    private static let shardCount = 32

    private let shards = (0..<shardCount).map { _ in Shard() }
    private let telling = Mutex(Telling())

    private final class Shard: Sendable {
        let state = Mutex(State())

        struct State {
            var people: [UserID: Person] = [:]
            /// Who went, and was not told to have gone.
            var leaving: Set<UserID> = []
        }
    }

    private struct Person {
        /// Connections that share it and are in the foreground.
        var active: Set<ObjectIdentifier> = []
        /// When the last of them went, as long as it was not told.
        var leftAt: Date?
        /// What was told, or would have been.
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

    /// Whether it knows of nobody: what tests look for once everybody left.
    var isEmpty: Bool { shards.allSatisfy { $0.state.withLock { $0.people.isEmpty && $0.leaving.isEmpty } } }

    // MARK: Coming and going

    /// A connection that shares it is in the foreground.
    ///
    /// - Returns: whether somebody came by that who was not there.
    func came(_ connection: any Connection) -> Bool {
        change(connection.user) { person in
            person.active.insert(ObjectIdentifier(connection))
            person.leftAt = nil
            defer { person.isOnline = true }
            return !person.isOnline
        }
    }

    /// It went to the background, or is gone.
    func went(_ connection: any Connection, now: Date) {
        change(connection.user) { person in
            guard person.active.remove(ObjectIdentifier(connection)) != nil, person.active.isEmpty else { return }
            person.leftAt = now
        }
    }

    /// Who has been gone for so long that it is to be told, with the time they went.
    ///
    /// - Parameter grace: nothing where the server stops.
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

    // MARK: Telling

    /// Has a step carried out by whoever tells something next.
    func tellLater(_ step: @escaping @Sendable () -> Void) {
        telling.withLock { $0.steps.append(step) }
    }

    /// Carries out a step after those before it, if nobody else does so now.
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
