package import ScrollbackModel
import ScrollbackWire

extension Transaction {
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
