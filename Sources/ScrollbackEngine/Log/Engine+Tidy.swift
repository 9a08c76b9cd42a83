import Foundation
import ScrollbackModel
import Synchronization

/// What a server does now and then: hide what has been kept long enough, remove what nobody can see any more, forget what
/// was remembered long enough, and give room back. All of it in small transactions, with the others' sends between.
extension Engine {
    /// Rows that one transaction removes: more would keep senders waiting.
    static let sweepBatch = 100
    private static let hour: TimeInterval = 3600

    /// Hides messages that have been kept as long as their conversation's retention says.
    ///
    /// It looks at one row for each conversation, and no further where nothing is due. Time goes by the hour, so that a
    /// conversation in which something is said all day is not changed all day.
    ///
    /// - Returns: how many conversations had any.
    @discardableResult
    package func expire() async throws -> Int {
        let now = clock()
        let server = settings.retention
        func cutoff(_ row: ConversationRow) -> Timetoken? {
            guard case .days(let days) = row.retention.map({ RetentionPolicy(stored: $0) }) ?? server else {
                return nil
            }
            let time = now.timeIntervalSince1970 - Double(days) * 24 * Self.hour
            return Timetoken(Date(timeIntervalSince1970: (time / Self.hour).rounded(.down) * Self.hour))
        }
        var count = 0
        var after: Int64 = 0
        while case let rows = try store.read({ try $0.conversations(after: after, limit: 500) }), let last = rows.last {
            after = last.number
            let due = rows.compactMap { row in
                cutoff(row).flatMap { time in
                    !row.isDeleted && row.firstSeq <= row.head && row.floorTime < time ? (row.id, time) : nil
                }
            }
            if !due.isEmpty {
                count += try await submit { transaction in
                    try due.count { try transaction.expire($0.0, before: $0.1) }
                }
            }
            unswept.withLock { $0.formUnion(rows.filter(\.hasRemains).map(\.id) + due.map(\.0)) }
        }
        return count
    }

    /// Removes rows that nobody can see any more, a batch at a time, with a pause as long as each took.
    ///
    /// - Returns: how many batches it were.
    @discardableResult
    package func sweep() async throws -> Int {
        var batches = 0
        while !Task.isCancelled, let id = unswept.withLock({ $0.popFirst() }) {
            let start = ContinuousClock.now
            let (removed, hasMore) = try await submit { try $0.sweep(id, limit: Self.sweepBatch) }
            removedMessages.wrappingAdd(removed, ordering: .relaxed)
            batches += 1
            if hasMore { unswept.withLock { _ = $0.insert(id) } }
            try await Task.sleep(for: ContinuousClock.now - start)
        }
        return batches
    }

    /// Forgets keys and changes after 180 days, and invitations and bans that ended, and gives room back to the system.
    package func forget() async throws {
        let now = Timetoken(clock()).rawValue
        let oldest = Timetoken(rawValue: now > Transaction.keyTicks ? now - Transaction.keyTicks : 0)
        let ended = clock()
        while try await submit({ transaction in
            try max(
                transaction.store.dropKeys(before: oldest, limit: 500),
                transaction.store.dropInvitations(endedBy: ended, limit: 500))
        }) == 500, !Task.isCancelled {}
        try await forgetBans()
        var after: Int64 = 0
        while case let rows = try store.read({ try $0.conversations(after: after, limit: 500) }), let last = rows.last {
            after = last.number
            let due = try store.read { store in
                try rows.filter { row in
                    guard row.rev > row.changeFloor else { return false }
                    let first = try store.changes(in: row.number, after: row.changeFloor, limit: 1).first
                    return first.map { $0.at < oldest } ?? false
                }
            }
            for row in due {
                while try await submit({ try $0.forgetChanges(of: row.id, before: oldest, limit: 500) }) {}
            }
        }
        while try store.giveBackRoom(), !Task.isCancelled { try await Task.sleep(for: .milliseconds(20)) }
    }

    /// Waits for a change of the engine's own.
    func submit<Answer: Sendable>(
        _ body: @escaping @Sendable (Transaction) throws -> Answer
    ) async throws(ChatError) -> Answer {
        let result: Result<Answer, ChatError> = await withCheckedContinuation { continuation in
            log.submit(body) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }
}

extension ConversationRow {
    /// Whether there may be rows that nobody can see.
    fileprivate var hasRemains: Bool { !isDeleted && (sweptSeq < firstSeq || hasVoids) }
}

extension Transaction {
    /// Forgets the oldest changes of a conversation: whoever has not seen them by now fetches the log again.
    ///
    /// - Returns: whether there are more.
    func forgetChanges(of id: ConversationID, before time: Timetoken, limit: Int) throws -> Bool {
        guard var row = try conversation(id) else { return false }
        let oldest = try store.changes(in: row.number, after: row.changeFloor, limit: limit)
        let due = oldest.prefix { $0.at < time }
        guard let last = due.last else { return false }
        try store.dropChanges(in: row.number, through: last.rev)
        row.changeFloor = last.rev
        try put(row, isNews: false)
        return due.count == limit
    }
}
