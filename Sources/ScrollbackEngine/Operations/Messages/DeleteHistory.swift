import ScrollbackModel
package import ScrollbackWire
import Synchronization

extension DeleteHistory: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> Answer {
        guard context.engine.settings.allowsHistoryDelete else {
            throw ChatError(.forbidden, "Deleting history is turned off (setting allowsHistoryDelete).")
        }
        let request = ChangeRequest(toLog: conversation, by: context.caller, operation: operation)
        return Answer(count: try transaction.delete(range, request, permissions: context.permissions))
    }

    package func didCommit(_ context: OperationContext) {
        let id = conversation.logID.absolute(for: context.caller.user)
        _ = context.engine.unswept.withLock { $0.insert(id) }
        context.startCleanup()
    }
}

extension Transaction {
    /// Deletes a range of messages for everyone.
    ///
    /// The messages become invisible at once. Their rows are removed later, in batches.
    ///
    /// - Returns: The number of messages that were deleted.
    fileprivate func delete(_ range: DeleteRange, _ request: ChangeRequest, permissions: Permissions) throws -> Int64 {
        let subject = try subject(of: request, permissions: permissions, needsMember: false)
        var row = subject.row
        try permissions.require(
            .deleteHistory, in: row.id, as: subject.access.role, by: request.caller, to: "delete history")
        let digest = request.digest("range", range.from?.text ?? "", range.to?.text ?? "")
        if let known = try previousChange(request, digest, in: row) { return known.answer }
        let pages = PageReader(
            access: subject.access, store: store, reader: request.caller.user, sort: .oldestFirst, filter: .all)
        let lower = try range.from.map { try pages.position($0, "from").newestOlder + 1 } ?? row.firstSeq
        let upper = try range.to.map { try pages.position($0, "to").newestOlder } ?? row.head
        guard !range.isCrossed, range.from == nil || range.to == nil || lower <= upper + 1 else {
            throw ChatError.invalidParameter(
                "from", "must not be newer than to: the range includes from, the older end, and excludes to")
        }
        guard max(lower, row.firstSeq) <= min(upper, row.head) else {
            try recordEmptyDeletion(of: request, digest, in: &row)
            return 0
        }
        let deletedRange = max(lower, row.firstSeq)...min(upper, row.head)
        if deletedRange.lowerBound > row.firstSeq {
            try checkCount(ofDeletedRangesWith: [deletedRange], of: nil, in: row.number)
        }
        let count = try messageCount(in: SeqRangeSet([deletedRange]), of: row)
        try remove(deletedRange, of: &row)
        if deletedRange.contains(row.recentSeq) { try findRecent(below: deletedRange.lowerBound, in: &row) }
        let rev = try recordChange(
            .removal, deletedRange, in: &row, operation: request.operation, digest: digest, answer: count)
        row = try put(row)
        publish(
            .changed(
                row.id, .removed(deletedRange, rev: rev), HeadAnnouncement(row, generation: generation),
                notifiesCommunity: notifiesCommunity(row)))
        try audit(
            .deleteHistory, by: request.caller, in: row,
            detail: "seq \(deletedRange.lowerBound)...\(deletedRange.upperBound)")
        return count
    }

    /// Updates the newest message that recents don't skip, after a deletion.
    private func findRecent(below seq: Seq, in row: inout ConversationRow) throws {
        row.recentSeq = 0
        // Messages in a deleted range stay in the store until they are removed.
        let deletedRanges =
            row.hasDeletedRanges
            ? SeqRangeSet(try store.deletedRanges(of: nil, in: row.number).map(\.places)) : SeqRangeSet()
        var place = seq - 1
        var depth = MessageTraits.recentsDepth
        while depth > 0 {
            guard let message = try store.message(atOrBelow: place, in: row.number), message.seq >= row.firstSeq else {
                return
            }
            if let deletedRange = deletedRanges.range(containing: message.seq) {
                place = deletedRange.lowerBound - 1
                continue
            }
            if message.attributes.traits.bits & MessageTraits.skipsRecentsBit == 0 {
                row.recentSeq = message.seq
                row.recentTime = message.timetoken
                return
            }
            place = message.seq - 1
            depth -= 1
        }
    }

    /// Stores a request that deleted nothing, so that a retry deletes nothing either.
    ///
    /// Without this, a retry could delete messages that were sent after the first attempt. The entry of the change log
    /// covers no message, so clients don't see a change.
    private func recordEmptyDeletion(of request: ChangeRequest, _ digest: Int64, in row: inout ConversationRow) throws {
        guard request.operation != nil else { return }
        let growth = Growth(messageBytes: Self.rowBytes)
        try checkGrowth(growth, by: request.caller, adding: .protection)
        try recordGrowth(growth, by: request.caller)
        _ = try recordChange(.message, 0...0, in: &row, operation: request.operation, digest: digest)
        row = try put(row)
        publish(
            .headChanged(
                row.id, HeadAnnouncement(row, generation: generation), notifiesCommunity: notifiesCommunity(row)))
    }

    /// Removes a range from the log, by raising the retention floor at its beginning or by adding a deleted range
    /// elsewhere.
    private func remove(_ deletedRange: SeqRange, of row: inout ConversationRow) throws {
        if deletedRange.lowerBound <= row.firstSeq {
            try raiseFloor(of: &row, through: deletedRange.upperBound)
        } else {
            let before = try store.countedIndex(at: deletedRange.lowerBound - 1, in: row)
            let last = try store.countedIndex(at: deletedRange.upperBound, in: row)
            if before < last { try store.insert(before + 1...last, into: .removed, of: row.number) }
            try insert([DeletedRangeRow(deletedRange, holdsMessages: true)], of: nil, in: row.number)
            row.hasDeletedRanges = true
        }
    }
}
