package import ScrollbackModel

extension StoreReader {
    /// Returns the newest sequence number that satisfies a predicate, or `firstSeq - 1` if none does.
    ///
    /// Times and counted indexes increase with the sequence number, so this is a binary search on the primary key
    /// without another index.
    ///
    /// - Parameter isAtOrBefore: The predicate. If it is true for a message, it must be true for all earlier messages.
    package func lastPosition(
        in conversation: ConversationRow, where isAtOrBefore: (PositionRow) throws -> Bool
    ) throws -> Seq {
        var low = conversation.firstSeq - 1
        var high = conversation.head
        while low < high {
            let middle = low + (high - low + 1) / 2
            // Positions of removed messages count as the next lower existing message.
            guard let row = try position(atOrBelow: middle, in: conversation.number), row.seq > low else {
                low = middle
                continue
            }
            if try isAtOrBefore(row) { low = middle } else { high = row.seq - 1 }
        }
        return low
    }

    package func lastPosition(in conversation: ConversationRow, atOrBefore time: Timetoken) throws -> Seq {
        try lastPosition(in: conversation) { $0.timetoken <= time }
    }

    /// Returns the newest sequence number before a time, or `firstSeq - 1` if there is none.
    func lastPosition(in conversation: ConversationRow, before time: Timetoken) throws -> Seq {
        guard time.rawValue > 0 else { return conversation.firstSeq - 1 }
        return try lastPosition(in: conversation, atOrBefore: Timetoken(rawValue: time.rawValue - 1))
    }

    /// Returns the newest sequence number at or before a time.
    ///
    /// Deleted ranges at that position, and everything below the retention floor, count as before the time. Their times
    /// are unknown once the rows are removed, and a result must not decrease later.
    func position(atOrBefore time: Timetoken, in conversation: ConversationRow) throws -> Seq {
        if conversation.timetoken <= time { return conversation.head }
        let place = try lastPosition(in: conversation, atOrBefore: time)
        guard conversation.hasDeletedRanges else { return place }
        let deletedRange = try deletedRanges(of: nil, in: conversation.number).first { $0.places.contains(place + 1) }
        return deletedRange?.places.upperBound ?? place
    }

    /// Returns the counted index at a sequence number, or at the next lower existing message if that one was removed.
    ///
    /// The result is never below the counted index at the retention floor.
    func countedIndex(at seq: Seq, in row: ConversationRow) throws -> Int64 {
        if seq >= row.head { return row.countedIndex }
        if seq < row.firstSeq { return row.floorCountedIndex }
        let known = try position(atOrBelow: seq, in: row.number)?.countedIndex
        return max(row.floorCountedIndex, known ?? row.floorCountedIndex)
    }
}
