import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

extension Verification {
    /// Verifies the log of a conversation.
    ///
    /// Sequence numbers must be dense except for deleted ranges, and timetokens must increase. The counted index must
    /// increase by one for each message that counts, or counted before it was deleted. The conversation's row must
    /// match its newest message.
    mutating func checkLog(of row: ConversationRow) throws {
        let deletedRanges = SeqRangeSet(try reader.deletedRanges(of: nil, in: row.number).map(\.places))
        var seq = row.sweptSeq - 1
        // Removed messages leave no record of how many of them counted.
        var countedIndex: Int64?
        var time: Timetoken?
        var traits: [String: MessageTraits] = [:]
        try connection.run(statements.messages, bind: { $0.add(row.number) }) { columns in
            let place = columns.integer()
            let number = columns.integer()
            let timetoken = Timetoken(rawValue: columns.bits())
            let type = columns.text()
            let disabledTraits = MessageTraits(bits: columns.integer())
            let isTombstone = columns.flag()
            let rev = columns.integer()
            countMessage()

            if place <= seq {
                try found("\(row.id): message \(place) is below the first sequence number, \(row.sweptSeq)")
                return true
            }
            if place > seq + 1 {
                countedIndex = nil
                for missing in deletedRanges.missing(in: max(seq + 1, row.firstSeq)...max(place - 1, row.firstSeq))
                    .ranges
                where missing.upperBound < place {
                    try found("\(row.id): \(Self.places(missing.lowerBound, missing.upperBound)) missing")
                }
            }
            if place == row.firstSeq {
                let floor = row.floorCountedIndex
                if let countedIndex, !(countedIndex...max(countedIndex, number)).contains(floor) {
                    try found(
                        "\(row.id): the index below the floor is \(floor), but that of the message is \(countedIndex)")
                }
                countedIndex = row.floorCountedIndex
            }
            let typeTraits = traits[type] ?? MessageType(rawValue: type).traits
            if traits.count < 100 { traits[type] = typeTraits }
            if let countedIndex {
                // A tombstone of a message that counted has its own counted index, which is in the removed set.
                let counts =
                    try typeTraits.restricted(by: disabledTraits).countsUnread
                    || isTombstone && number == countedIndex + 1 && reader.isIn(.removed, number, of: row.number)
                let expected = countedIndex + (counts ? 1 : 0)
                if number != expected {
                    try found("\(row.id): message \(place) has the counted index \(number), not \(expected)")
                }
            }
            if let time, timetoken <= time {
                try found("\(row.id): message \(place) has the timetoken \(timetoken), not after the previous \(time)")
            }
            if rev > row.rev { try found("\(row.id): message \(place) has revision \(rev), above \(row.rev)") }
            if place >= row.firstSeq, try reader.isIn(.deleted, place, of: row.number) != isTombstone {
                try found("\(row.id): the deletion of message \(place) is recorded inconsistently")
            }
            (seq, countedIndex, time) = (place, number, timetoken)
            return true
        }
        let end = deletedRanges.range(containing: row.head)?.lowerBound ?? row.head + 1
        if row.firstSeq <= row.head, seq < end - 1 {
            try found("\(row.id): the head is \(row.head), but the newest message is \(seq)")
        }
        if row.recentSeq > row.head {
            try found(
                "\(row.id): the head is \(row.head), but the newest message in recents is \(row.recentSeq)")
        }
        if seq > row.head { try found("\(row.id): the head is \(row.head), but the newest message is \(seq)") }
        if seq == row.head, let countedIndex, countedIndex != row.countedIndex {
            try found(
                "\(row.id): the counted index is \(row.countedIndex), but that of the newest message is \(countedIndex)"
            )
        }
        if seq == row.head, let time, time != row.timetoken {
            try found("\(row.id): the newest timetoken is \(row.timetoken), but that of the newest message is \(time)")
        }
        try checkIDs(of: row)
    }

    /// Verifies that the change log has all revisions above the oldest kept one.
    mutating func checkChanges(of row: ConversationRow) throws {
        var last = row.changeFloor
        try connection.run(statements.changes, bind: { $0.add(row.number) }) { columns in
            let rev = columns.integer()
            if rev != last + 1 { try found("\(row.id): revision \(rev) follows \(last)") }
            last = rev
            return true
        }
        if last != row.rev {
            try found("\(row.id): the newest revision is \(row.rev), but the change log ends at \(last)")
        }
    }

    private mutating func checkIDs(of row: ConversationRow) throws {
        var last: MessageID?
        try connection.run(statements.ids, bind: { $0.add(row.number) }) { columns in
            guard let uuid = columns.optionalUUID() else {
                try found("\(row.id): the ID of a message does not have 16 bytes")
                return true
            }
            let id = MessageID(uuid)
            if id == last { try found("\(row.id): two messages have the ID \(id)") }
            last = id
            return true
        }
    }

    private static func places(_ first: Seq, _ last: Seq) -> String {
        first == last ? "message \(first) is" : "messages \(first) to \(last) are"
    }

    /// Returns the counted index at a sequence number.
    func countedIndex(at seq: Seq, in row: ConversationRow) throws -> Int64 {
        try reader.position(atOrBelow: seq, in: row.number)?.countedIndex ?? row.floorCountedIndex
    }
}
