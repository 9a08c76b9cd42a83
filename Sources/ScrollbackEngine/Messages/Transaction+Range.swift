package import ScrollbackModel
import ScrollbackWire

extension Transaction {
    /// Deletes a range of messages for everyone.
    ///
    /// The messages become invisible at once. Their rows are removed later, in batches.
    ///
    /// - Returns: The number of messages that were deleted.
    func delete(_ range: DeleteRange, _ request: ChangeRequest, permissions: Permissions) throws -> Int64 {
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
        try checkGrowth(growth, by: request.caller)
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

    /// Raises the retention floor to above `seq` and above deleted ranges next to it; the rows are removed later.
    func raiseFloor(of row: inout ConversationRow, through seq: Seq) throws {
        row.firstSeq = seq + 1
        for deletedRange in try store.deletedRanges(of: nil, in: row.number)
        where deletedRange.places.lowerBound <= row.firstSeq {
            try store.dropDeletedRange(from: deletedRange.places.lowerBound, of: nil, in: row.number)
            guard deletedRange.places.upperBound >= row.firstSeq else { continue }
            row.firstSeq = deletedRange.places.upperBound + 1
        }
        row.hasDeletedRanges = try !store.deletedRanges(of: nil, in: row.number).isEmpty
        let first = try store.message(at: row.firstSeq, in: row.number)
        row.floorTime = first?.timetoken ?? row.timetoken
        // The counted index comes from the message above, because the rows in the deleted range may be removed already.
        row.floorCountedIndex = first.map { $0.countedIndex - ($0.traits.countsUnread ? 1 : 0) } ?? row.countedIndex
        try store.dropBits(.removed, of: row.number, below: BitBlock.index(of: row.floorCountedIndex + 1))
    }

    /// Returns how many undeleted messages a set of ranges has, computed from ranges and bit sets without reading rows.
    func messageCount(in seqs: SeqRangeSet, of row: ConversationRow) throws -> Int64 {
        var seqs = seqs
        if row.hasDeletedRanges {
            for deletedRange in try store.deletedRanges(of: nil, in: row.number) { seqs.remove(deletedRange.places) }
        }
        return try store.messageCount(in: seqs, of: row.number)
    }

    // MARK: Retention

    /// Raises the retention floor above messages older than a time, and returns whether there were any.
    func expire(_ id: ConversationID, before time: Timetoken) throws -> Bool {
        try flush()
        guard var row = try conversation(id), !row.isDeleted, row.firstSeq <= row.head, row.floorTime < time else {
            return false
        }
        let last = try store.lastPosition(in: row, before: time)
        guard last >= row.firstSeq else { return false }
        try raiseFloor(of: &row, through: last)
        row = try put(row)
        publish(
            .headChanged(id, HeadAnnouncement(row, generation: generation), notifiesCommunity: notifiesCommunity(row)))
        return true
    }

    // MARK: Removal

    /// How long a message's key is stored after its row is removed, in timetoken ticks, so that late retries are
    /// recognized.
    package static let keyTicks: UInt64 = 180 * 24 * 60 * 60 * 1000 * Timetoken.ticksPerMillisecond

    /// Removes a batch of rows that no user can see.
    ///
    /// - Returns: The number of removed rows, and whether there are more.
    package func sweep(_ id: ConversationID, limit: Int) throws -> (removed: Int, hasMore: Bool) {
        guard var row = try conversation(id), !row.isDeleted else { return (0, false) }
        let deletedRanges =
            row.hasDeletedRanges ? try store.deletedRanges(of: nil, in: row.number).filter(\.holdsMessages) : []
        let isFloor = row.sweptSeq < row.firstSeq
        guard let places = isFloor ? row.sweptSeq...row.firstSeq - 1 : deletedRanges.first?.places else {
            return (0, false)
        }
        let rows = try store.messages(
            in: row.number, places, newestFirst: false, limit: limit, filter: .all, reader: UserID(known: ""))
        // Many events of these messages can be pending, so the messages stay until their deliveries are gone.
        if let first = rows.first, let last = rows.last,
            try dropDeliveries(of: first.seq...last.seq, in: row.number, limit: Self.deliveriesPerStep)
                == Self.deliveriesPerStep
        {
            return (0, true)
        }
        for message in rows {
            if message.timetoken.rawValue + Self.keyTicks > now.rawValue {
                try store.insert(KeyRow(message), in: row.number)
            }
            try replaceMentions(message.attributes.mentions, with: nil, of: message, in: row.number)
            if message.thread == nil { try store.dropThread(message.id, in: row.number) }
        }
        if let first = rows.first, let last = rows.last {
            try removeReferences(at: first.seq...last.seq, in: row.number)
            try store.removeMessages(first.seq...last.seq, in: row.number)
        }
        if !isFloor {
            // The retention floor removes a thread from its beginning, so only deleted ranges change reply counts.
            let replies = Dictionary(grouping: rows.filter { $0.thread != nil && !$0.isDeleted }, by: \.thread)
            for replies in replies.values.sorted(by: { $0[0].seq < $1[0].seq }) {
                try countReply(of: replies[0], by: -Int64(replies.count), in: &row)
            }
        }
        let isDone = rows.count < limit
        if isFloor {
            row.sweptSeq = isDone ? row.firstSeq : (rows.last?.seq ?? row.firstSeq - 1) + 1
            try store.dropBits(.deleted, of: row.number, below: BitBlock.index(of: row.sweptSeq))
        } else if isDone, var deletedRange = deletedRanges.first {
            deletedRange.holdsMessages = false
            try store.put(deletedRange, of: nil, in: row.number)
        }
        try put(row, isClientVisible: false)
        return (rows.count, !isDone || deletedRanges.count > (isFloor ? 0 : 1))
    }
}

extension StoreReader {
    /// Returns how many messages in a set of ranges were not deleted; the ranges must not include deleted ranges.
    func messageCount(in seqs: SeqRangeSet, of conversation: Int64) throws -> Int64 {
        var count = seqs.count
        for range in seqs.ranges { count -= try self.count(.deleted, in: range, of: conversation) }
        return count
    }
}
