package import Foundation
package import ScrollbackModel
import Synchronization

/// A message store in memory, for tests of the engine and of apps.
///
/// Its contents are lost when the process ends.
package final class MemoryStore: MessageStore {
    private let rows: MemoryRows
    private let clock: @Sendable () -> Date
    /// The last commit, the newest time and the generation.
    ///
    /// They have their own lock, because reads and transactions hold the rows' lock.
    private let position: Mutex<(lastCommit: Int64, newest: Timetoken, generation: UInt64)>

    /// - Parameter clock: The time of all nodes that share the store.
    package init(generation: UInt64, clock: @escaping @Sendable () -> Date = { Date() }) {
        self.clock = clock
        rows = MemoryRows()
        position = Mutex((0, Timetoken(rawValue: 0), generation))
    }

    private init(
        _ rows: MemoryRows, _ lastCommit: Int64, _ newest: Timetoken, _ generation: UInt64,
        clock: @escaping @Sendable () -> Date
    ) {
        self.clock = clock
        self.rows = rows
        position = Mutex((lastCommit, newest, generation))
    }

    /// Returns an independent copy of the store, as a snapshot of its volume would be.
    package func copy() -> MemoryStore {
        rows.lock.withLock { _ in
            let (lastCommit, newest, generation) = position.withLock { $0 }
            return MemoryStore(MemoryRows(copying: rows), lastCommit, newest, generation, clock: clock)
        }
    }

    package var generation: UInt64 { position.withLock { $0.generation } }

    package var lastCommit: Int64 { position.withLock { $0.lastCommit } }
    package var newest: Timetoken { position.withLock { $0.newest } }

    package func read<Answer>(_ body: (any StoreReader) throws -> Answer) throws -> Answer {
        try rows.lock.withLock { _ in try body(rows) }
    }

    package func write<Answer>(_ body: (any StoreWriter, _ commit: Int64) throws -> Answer) throws -> Answer {
        try rows.lock.withLock { _ in
            let commit = lastCommit + 1
            return try undoing {
                let answer = try body(rows, commit)
                committed(CommitNote(number: commit, id: .random(), body: []))
                return answer
            }
        }
    }

    /// Runs a closure, and reverts its changes if it fails; the lock of the rows is held.
    private func undoing<Answer>(_ body: () throws -> sending Answer) throws -> sending Answer {
        rows.undo.removeAll()
        do {
            return try body()
        } catch {
            for step in rows.undo.reversed() { step() }
            throw error
        }
    }

    /// Ends a transaction; the lock of the rows is held.
    private func committed(_ note: CommitNote) {
        rows.notes.append(note)
        position.withLock { position in
            let generation = rows.incarnationRows.last?.generation ?? position.generation
            position = (note.number, max(position.newest, rows.newest), generation)
        }
    }
}

extension MemoryStore: SharedStore {
    package var isFirst: Bool { lastCommit == 0 }

    package func write(
        after known: Int64, as id: CommitID, expecting reads: () -> ExpectedReads,
        _ body: (any StoreWriter, Turn) throws -> [UInt8]
    ) throws {
        try rows.lock.withLock { _ in
            let turn = Turn(
                commit: lastCommit + 1, newest: newest, time: clock(), earlier: rows.notes(from: known))
            try undoing { committed(CommitNote(number: turn.commit, id: id, body: try body(rows, turn))) }
        }
    }

    package func notes(from number: Int64) -> NotePage { rows.lock.withLock { _ in rows.notes(from: number) } }

    /// Does nothing: all nodes have this object.
    package func adopt(_ generation: UInt64, of commit: Int64) {}

    /// Does nothing: the store keeps all notes.
    package func dropNotes(olderThan seconds: TimeInterval) {}
}

extension MemoryRows {
    fileprivate func notes(from number: Int64) -> NotePage {
        NotePage(notes: Array(notes.dropFirst(Int(number))), hasMore: false)
    }
}

extension MemoryStore {
    package func vacuum() -> Bool { false }
}
