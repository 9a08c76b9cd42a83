import Foundation
import ScrollbackModel
import Synchronization

/// Maintenance tasks, which run periodically in small transactions between other writes.
///
/// They apply the retention policy, remove invisible rows, delete old keys and changes, and return free space.
extension Engine {
    /// The number of rows that one transaction removes; larger batches would delay senders.
    static let sweepBatch = 100
    private static let hour: TimeInterval = 3600

    /// Hides messages that are older than their conversation's retention policy allows.
    ///
    /// The task reads one row per conversation, and more only if messages are due. Cutoff times are rounded down to the
    /// hour, so that a busy conversation changes at most once per hour.
    ///
    /// - Returns: The number of conversations in which messages were hidden.
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
            unswept.withLock { $0.formUnion(rows.filter(\.hasUnremovedRows).map(\.id) + due.map(\.0)) }
        }
        return count
    }

    /// Removes rows of hidden messages in batches, with a pause after each batch as long as the batch took.
    ///
    /// - Returns: The number of batches.
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

    /// Deletes message keys and changes older than 180 days, expired invitations and bans, amounts of earlier days, and
    /// deliveries to removed webhooks.
    ///
    /// Then it returns free space.
    package func prune() async throws {
        let now = Timetoken(clock()).rawValue
        let oldest = Timetoken(rawValue: now > Transaction.keyTicks ? now - Transaction.keyTicks : 0)
        let ended = clock()
        let (oldestDelivered, oldestAct) = (oldestLoggedDelivery, oldestLoggedAct)
        while try await submit({ transaction in
            let store = transaction.store
            try store.dropUsage(before: UsageRow.day(of: ended))
            return try max(
                store.dropKeys(before: oldest, limit: 500), store.dropInvitations(endedBy: ended, limit: 500),
                store.dropDelivered(before: oldestDelivered, exceeding: Self.loggedEvents, limit: 500),
                store.dropAudit(before: oldestAct, limit: 500),
                transaction.dropDeliveries(exceptTo: Self.storedSettings(store).moderation.webhooks))
        }) == 500, !Task.isCancelled {}
        try await deleteExpiredBans()
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
                while try await submit({ try $0.pruneChanges(of: row.id, before: oldest, limit: 500) }) {}
            }
        }
        while try store.vacuum(), !Task.isCancelled { try await Task.sleep(for: .milliseconds(20)) }
    }

    /// Submits a change to the log and waits for its result.
    ///
    /// - Parameter owner: The user who caused the change.
    func submit<Answer: Sendable>(
        for owner: WorkOwner = .server, _ body: @escaping @Sendable (Transaction) throws -> Answer
    ) async throws(ChatError) -> Answer {
        let result: Result<Answer, ChatError> = await withCheckedContinuation { continuation in
            log.submit(for: owner, body) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// Waits for all changes that were submitted before this call.
    func waitForSubmitted() async throws(ChatError) {
        let result: Result<Void, ChatError> = await withCheckedContinuation { continuation in
            log.waitForSubmitted { continuation.resume(returning: $0) }
        }
        try result.get()
    }
}

extension ConversationRow {
    /// Whether the store may have rows that no user can see.
    fileprivate var hasUnremovedRows: Bool { !isDeleted && (sweptSeq < firstSeq || hasDeletedRanges) }
}

extension Transaction {
    /// Deletes the oldest entries of a conversation's change log.
    ///
    /// Clients that have not seen these changes fetch the messages again.
    ///
    /// - Returns: Whether more entries are due.
    func pruneChanges(of id: ConversationID, before time: Timetoken, limit: Int) throws -> Bool {
        guard var row = try conversation(id) else { return false }
        let oldest = try store.changes(in: row.number, after: row.changeFloor, limit: limit)
        let due = oldest.prefix { $0.at < time }
        guard let last = due.last else { return false }
        try store.dropChanges(in: row.number, through: last.rev)
        row.changeFloor = last.rev
        try put(row, isClientVisible: false)
        return due.count == limit
    }
}
