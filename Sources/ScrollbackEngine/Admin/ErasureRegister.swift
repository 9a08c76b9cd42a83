package import Foundation
package import ScrollbackModel
import Synchronization

/// The register of erased users, stored outside of backups, because a restored store may contain their data again.
package protocol ErasureRegister: Sendable {
    /// Registers an erasure, durable when this method returns; an existing entry stays unchanged.
    func add(_ erasure: RegisteredErasure) throws(ChatError)
    /// Returns all registered erasures, oldest first.
    func all() throws(ChatError) -> [RegisteredErasure]
}

/// A registered erasure.
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

/// An erasure register in memory, for embedded engines without backups.
package final class MemoryErasureRegister: ErasureRegister {
    private let erasures = Mutex<[RegisteredErasure]>([])

    package init() {}

    package func add(_ erasure: RegisteredErasure) {
        erasures.withLock { if !$0.contains(where: { $0.id == erasure.id }) { $0.append(erasure) } }
    }

    package func all() -> [RegisteredErasure] { erasures.withLock { $0 } }
}

/// The users whose erasure is in progress or ended recently.
final class ActiveErasures: Sendable {
    private struct Entry {
        /// The number of erasures started up to this one.
        var number: Int
        var endedAt: ContinuousClock.Instant?
    }

    private struct State {
        var count = 0
        var users: [UserID: Entry] = [:]
    }

    /// The maximum time that a request can be in progress, for example while it waits for a webhook.
    private static let maximumRequestDuration = Duration.seconds(60 * 60)

    private let state = Mutex(State())
    let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    init(_ users: Set<UserID>) {
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        for user in users { insert(user) }
        wake.yield()
    }

    /// The number of erasures started so far, by which requests from before an erasure are recognized.
    var count: Int { state.withLock { $0.count } }

    func insert(_ user: UserID) {
        state.withLock { state in
            state.count += 1
            state.users[user] = Entry(number: state.count)
        }
    }

    /// Removes a user whose erasure did not start.
    func remove(_ user: UserID) { state.withLock { $0.users[user] = nil } }

    /// Records the end of an erasure: the name can be used again, but requests from before the erasure are still
    /// refused.
    func end(_ user: UserID) {
        let now = ContinuousClock.now
        state.withLock { state in
            state.users[user]?.endedAt = now
            state.users = state.users.filter { known in
                known.value.endedAt.map { now - $0 < Self.maximumRequestDuration } ?? true
            }
        }
    }

    func begin() { wake.yield() }

    /// Refuses a request that was received before its user's erasure started.
    ///
    /// - Parameter count: The value of ``count`` when the request was received.
    /// - Throws: `user-deactivated`.
    func check(_ user: UserID, since count: Int) throws(ChatError) {
        guard let entry = state.withLock({ $0.users[user] }), entry.endedAt == nil || count < entry.number else {
            return
        }
        throw ChatError(.userDeactivated, "\(user) was erased.")
    }
}
