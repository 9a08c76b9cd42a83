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
    private let users: Mutex<Set<UserID>>
    let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    init(_ users: Set<UserID>) {
        self.users = Mutex(users)
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        wake.yield()
    }

    func insert(_ user: UserID) { users.withLock { _ = $0.insert(user) } }
    func remove(_ user: UserID) { users.withLock { _ = $0.remove(user) } }
    func begin() { wake.yield() }

    /// Refuses what was asked for before its user was shut out, and comes after it.
    ///
    /// - Throws: `user-deactivated`.
    func check(_ user: UserID) throws(ChatError) {
        guard users.withLock({ $0.contains(user) }) else { return }
        throw ChatError(.userDeactivated, "\(user) is being erased")
    }
}
