package import Foundation
package import ScrollbackModel
import Synchronization

/// Who was erased, kept where restoring a backup does not reach: a store from before then has them still.
package protocol ErasureRegister: Sendable {
    /// Writes one down, durable when it returns; one that is there already stays as it is.
    func add(_ erasure: RegisteredErasure) throws(ChatError)
    /// All of them, oldest first.
    func all() throws(ChatError) -> [RegisteredErasure]
}

/// That somebody is to be erased, as it is known outside of a store.
package struct RegisteredErasure: Hashable, Sendable {
    package var id: UUID
    package var user: UserID
    package var messages: ErasureRow.Messages
    package var replacement: UserID
    package var at: Date

    package init(id: UUID, user: UserID, messages: ErasureRow.Messages, replacement: UserID, at: Date) {
        self.id = id
        self.user = user
        self.messages = messages
        self.replacement = replacement
        self.at = at
    }

    init(_ row: ErasureRow) {
        self.init(
            id: row.id, user: row.user, messages: row.messages, replacement: row.replacement, at: row.createdAt)
    }
}

/// A register in memory, for an engine that is embedded where there are no backups.
package final class MemoryErasureRegister: ErasureRegister {
    private let erasures = Mutex<[RegisteredErasure]>([])

    package init() {}

    package func add(_ erasure: RegisteredErasure) {
        erasures.withLock { if !$0.contains(where: { $0.id == erasure.id }) { $0.append(erasure) } }
    }

    package func all() -> [RegisteredErasure] { erasures.withLock { $0 } }
}

/// Whose things are being removed now, and when somebody is to look again.
final class Erasing: Sendable {
    private struct ShutOut {
        /// How many shut-outs there were up to this one.
        var number: Int
        var endedAt: ContinuousClock.Instant?
    }

    private struct State {
        var count = 0
        var users: [UserID: ShutOut] = [:]
    }

    /// How long something that somebody said may be on its way: the operator's program is waited for for seconds.
    private static let longestWay = Duration.seconds(60 * 60)

    private let state = Mutex(State())
    let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    init(_ users: Set<UserID>) {
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        for user in users { insert(user) }
        wake.yield()
    }

    /// How many people were shut out up to now: by this it is told what was said before.
    var count: Int { state.withLock { $0.count } }

    func insert(_ user: UserID) {
        state.withLock { state in
            state.count += 1
            state.users[user] = ShutOut(number: state.count)
        }
    }

    /// Somebody is not erased after all.
    func remove(_ user: UserID) { state.withLock { $0.users[user] = nil } }

    /// The name can be used again; what was said under it before, and is on its way, is not taken for the next one's.
    func end(_ user: UserID) {
        let now = ContinuousClock.now
        state.withLock { state in
            state.users[user]?.endedAt = now
            state.users = state.users.filter { known in known.value.endedAt.map { now - $0 < Self.longestWay } ?? true }
        }
    }

    func begin() { wake.yield() }

    /// Refuses what was asked for before its user was shut out, and comes after it.
    ///
    /// - Parameter count: ``count`` when it was asked for.
    /// - Throws: `user-deactivated`.
    func check(_ user: UserID, since count: Int) throws(ChatError) {
        guard let shutOut = state.withLock({ $0.users[user] }), shutOut.endedAt == nil || count < shutOut.number else {
            return
        }
        throw ChatError(.userDeactivated, "\(user) was erased")
    }
}
