package import Foundation
import ScrollbackModel
import Synchronization

/// Detects a store that went back to an earlier state, and makes clients synchronize again.
extension Engine {
    /// Renews the generation once for each rollback, and closes all connections.
    ///
    /// - Parameter completion: Called after the commit, or with the error if the store can't be written. The next
    ///   client with a newer checkpoint then tries again.
    package func recover(from rollback: Checkpoints.Rollback, completion: @escaping Completion<Void>) {
        let date = clock()
        commits.submit(for: .server) { transaction in
            // Another client may have found the same rollback.
            guard try transaction.store.incarnations().last?.generation == rollback.generation else { return }
            try self.begin(
                .renewing(
                    at: date, after: rollback.seenIncarnation, commit: transaction.commit,
                    newest: transaction.newest, lostAfter: rollback.lostAfter),
                in: transaction, after: rollback)
        } completion: { result in
            completion(result)
        }
    }

    /// Renews the generation because the store lost a commit that this node has delivered, unless another node has done
    /// so.
    ///
    /// It does not use the queue of writes, because this node can't deliver the commits before its own. The other nodes
    /// close all connections when they deliver the note.
    ///
    /// - Throws: An error if it is not known whether the generation was renewed. Then call this again.
    func recover(fromLossOf commit: Int64) throws {
        struct IsRenewed: Error {}
        guard let node else { return }
        let known = checkpoints.incarnations
        do {
            try node.store.write(after: commit, as: .random()) { store, turn in
                let stored = try store.incarnations()
                // This node has delivered all commits up to the loss. A generation that it does not know is newer.
                guard let current = stored.last?.generation, known.contains(where: { $0.generation == current }) else {
                    throw IsRenewed()
                }
                // Another node may have begun an incarnation after the loss.
                let kept = stored.last { row in known.contains { $0.id == row.id } }
                let lostAfter = kept?.newest ?? Timetoken(rawValue: 0)
                let seen = known.last?.id ?? MessageID(high: 0, low: 0)
                let row = IncarnationRow.renewing(
                    at: turn.time, after: seen, commit: turn.commit, newest: turn.newest, lostAfter: lostAfter)
                try store.begin(row)
                let rollback = Checkpoints.Rollback(
                    generation: current, seenIncarnation: seen, seenCommit: commit, lastCommit: turn.commit - 1,
                    lostAfter: lostAfter)
                return CommitEffects(events: [.incarnationBegan(row, after: rollback)]).body
            }
        } catch is IsRenewed {
        } catch {
            throw ChatError(
                .overloaded, "The database lost commit \(commit), and its generation could not be renewed yet.",
                retryAfter: 1, cause: error)
        }
    }

    /// Renews the generation on an administrator's request, because the store was put back to an earlier state, and
    /// closes all connections.
    ///
    /// Messages since the start of the last incarnation may be lost.
    ///
    /// - Returns: The new generation.
    func renewGeneration(in transaction: Transaction) throws -> UInt64 {
        let row = IncarnationRow.renewing(
            at: clock(), commit: transaction.commit, newest: transaction.newest,
            lostAfter: try transaction.store.incarnations().last?.newest ?? Timetoken(rawValue: 0))
        try begin(row, in: transaction, after: nil)
        return row.generation
    }

    /// Begins a new incarnation if the system clock jumped, which shows that a virtual machine was resumed from a
    /// snapshot.
    ///
    /// Another copy of the machine may be running, or may have run before, in the same incarnation. Call this several
    /// times a minute.
    ///
    /// - Parameters:
    ///   - date: The time of the system clock.
    ///   - uptime: The time of a clock that is never set, and that also runs while the system sleeps.
    package func checkClocks(date: Date, uptime: Duration) {
        guard clockJumps.withLock({ $0.isJump(date: date, uptime: uptime) }) else { return }
        commits.submit(for: .server) { transaction in
            let generation = transaction.generation
            guard try transaction.store.incarnations().last?.generation == generation else { return }
            try self.begin(
                // An answer may get this commit's checkpoint before the new incarnation is adopted. The commit
                // therefore still belongs to the old one.
                IncarnationRow(
                    id: .incarnation(at: date), generation: generation, firstCommit: transaction.commit + 1,
                    newest: transaction.newest),
                in: transaction, after: nil)
        } completion: { _ in
        }
    }

    /// The explanation for clients whose connection belongs to an earlier incarnation.
    static let newIncarnationReason = "The server's store began a new incarnation. Reconnect and synchronize."

    private func begin(
        _ row: IncarnationRow, in transaction: Transaction, after rollback: Checkpoints.Rollback?
    ) throws {
        try transaction.store.begin(row)
        transaction.publish(.incarnationBegan(row, after: rollback))
    }

    /// Continues with the new incarnations of a commit, and closes the connections of the old one.
    ///
    /// Call this before the events of the commit are delivered.
    static func adoptIncarnations(in events: [Event], _ checkpoints: Checkpoints, _ hub: Hub) -> [Checkpoints.Rollback]
    {
        var rollbacks: [Checkpoints.Rollback] = []
        for case .incarnationBegan(let row, let rollback) in events {
            // Connections can open as soon as the row is adopted.
            hub.forgetLineage()
            checkpoints.adopt(row)
            hub.closeAll(.restarting, newIncarnationReason)
            if let rollback { rollbacks.append(rollback) }
        }
        return rollbacks
    }
}

/// Compares the system clock with a clock that is never set.
struct ClockJumps: Sendable {
    /// The difference, in seconds, above which the system clock jumped.
    static let threshold = 10.0

    private var last: (date: Date, uptime: Duration)?

    /// Records a reading of both clocks, and returns whether the system clock jumped since the last one.
    mutating func isJump(date: Date, uptime: Duration) -> Bool {
        defer { last = (date, uptime) }
        guard let last else { return false }
        let elapsed = (uptime - last.uptime) / .seconds(1)
        return abs(date.timeIntervalSince(last.date) - elapsed) > Self.threshold
    }
}
