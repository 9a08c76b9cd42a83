import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

extension Verification {
    /// Verifies the data of users: positions, membership times, uncounted indexes, mentions and receipts.
    mutating func checkMembers(of row: ConversationRow) throws {
        try checkPositions(of: row)
        try checkSpans(of: row)
        try checkUncounted(of: row)
        try checkMentions(of: row)
        try checkReplies(of: row)
        try checkReceipts(of: row)
    }

    private mutating func checkPositions(of row: ConversationRow) throws {
        let deletedRanges = SeqRangeSet(try reader.deletedRanges(of: nil, in: row.number).map(\.places))
        try connection.run(statements.members, bind: { $0.add(row.number) }) { columns in
            let member = try MemberRow(&columns)
            func check(_ name: String, _ seq: Seq, _ countedIndex: Int64) throws {
                guard (0...row.head).contains(seq) else {
                    return try found("\(row.id): \(member.user)'s \(name) position \(seq) is not in 0...\(row.head)")
                }
                // In a deleted range, the counted index is unknown.
                if deletedRanges.contains(seq) { return }
                // Below the floor, the log has no counted index; it was not higher than that at the floor.
                let isGone = seq < row.firstSeq
                let expected = isGone ? row.floorCountedIndex : try self.countedIndex(at: seq, in: row)
                if isGone ? countedIndex > expected : countedIndex != expected {
                    try found(
                        "\(row.id): \(member.user)'s \(name) index at \(seq) is \(countedIndex), not \(expected)"
                    )
                }
            }
            try check("read", member.readSeq, member.readCountedIndex)
            try check("clear", member.clearSeq, member.clearCountedIndex)
            // Readers of a channel joined the community at a time, so they have a counted index but no join position.
            if member.standing != .reader { try check("join", member.joinSeq, member.joinCountedIndex) }
            return true
        }
    }

    /// Verifies that receipts are within the log, and that only direct conversations have read receipts.
    private mutating func checkReceipts(of row: ConversationRow) throws {
        let highest: (read: Seq, delivered: Seq) =
            switch row.id.kind {
            case .direct: (row.head, row.head)
            case .group: (0, row.head)
            default: (0, 0)
            }
        try connection.run(
            uncached: "SELECT userID, seq, deliveredSeq FROM receipt WHERE conversation = ?",
            bind: { $0.add(row.number) }
        ) { columns in
            let user = columns.userID()
            func check(_ name: String, _ seq: Seq, _ highest: Seq) throws {
                guard !(0...highest).contains(seq) else { return }
                try found("\(row.id): \(user) has the \(name) receipt \(seq), which is not in 0...\(highest)")
            }
            try check("read", columns.integer(), highest.read)
            try check("delivery", columns.integer(), highest.delivered)
            return true
        }
    }

    /// Verifies that the flags of users and conversations mark all bans.
    mutating func checkBans() throws {
        try connection.run(
            uncached: """
                SELECT ban.userID, conversation.kind, conversation.target, conversation.part FROM ban
                LEFT JOIN conversation ON conversation.number = ban.conversation
                LEFT JOIN person ON person.id = ban.userID
                WHERE ban.conversation = 0 AND ifnull(person.isBanned, 0) = 0
                    OR ban.conversation <> 0 AND conversation.flags & \(ConversationFlags.bans.rawValue) = 0
                """
        ) { columns in
            let user = columns.text()
            let place = [columns.optionalText(), columns.optionalText(), columns.optionalText()].compactMap(\.self)
                .filter { !$0.isEmpty }.joined(separator: " ")
            try found("\(user) is banned from \(place.isEmpty ? "the server" : place), but no flag marks the ban")
            return true
        }
    }

    /// Verifies that membership times don't overlap.
    ///
    /// A membership from the beginning, as an import creates for users who left, may contain others.
    private mutating func checkSpans(of row: ConversationRow) throws {
        var user = ""
        // The ends of the previous membership, and of one from the beginning.
        var (end, firstEnd): (UInt64, UInt64) = (0, 0)
        try connection.run(statements.spans, bind: { $0.add(row.number) }) { columns in
            let name = columns.text()
            // Communities have unsigned times; the order of sequence numbers is the same either way.
            let joined = columns.bits()
            let left = columns.optionalInteger().map { UInt64(bitPattern: $0) }
            if name != user { (user, end, firstEnd) = (name, 0, 0) }
            if let left, left < joined {
                try found("\(row.id): \(user)'s membership from \(joined) ended earlier, at \(left)")
            }
            if joined == 0 {
                firstEnd = left ?? .max
                return true
            }
            let isWithin = left.map { $0 <= firstEnd } ?? false
            if joined < (isWithin ? end : max(end, firstEnd)) {
                try found("\(row.id): \(user)'s membership from \(joined) starts before the previous one ended")
            }
            end = left ?? .max
            return true
        }
    }

    /// Verifies the uncounted indexes of users.
    ///
    /// They must belong to the user's own or hidden messages, and must include the user's own messages above their
    /// position.
    private mutating func checkUncounted(of row: ConversationRow) throws {
        var blocks: [(user: UserID, block: BitBlock)] = []
        try connection.run(statements.blocks, bind: { $0.add(row.number) }) { columns in
            blocks.append((UserID(known: columns.text()), try BitBlock(&columns)))
            return true
        }
        for (user, block) in blocks {
            let hidden = SeqRangeSet(try reader.deletedRanges(of: user, in: row.number).map(\.places))
            let member = try reader.member(user, of: row.number)
            let base = max(
                row.floorCountedIndex, member?.readCountedIndex ?? 0, member?.clearCountedIndex ?? 0,
                member?.joinCountedIndex ?? 0)
            let numbers = block.range
            let first = try reader.lastPosition(in: row) { $0.countedIndex < numbers.lowerBound } + 1
            let last = try reader.lastPosition(in: row) { $0.countedIndex <= numbers.upperBound }
            guard first <= last else { continue }
            var before = (seq: first - 1, countedIndex: numbers.lowerBound - 1)
            try connection.run(
                statements.counted,
                bind: {
                    $0.add(row.number)
                    $0.add(first)
                    $0.add(last)
                },
                row: { columns in
                    let seq = columns.integer()
                    let countedIndex = columns.integer()
                    let isMine = columns.text().utf8.elementsEqual(user.text.utf8)
                    let traits = MessageType(rawValue: columns.text()).traits
                        .restricted(by: MessageTraits(bits: columns.integer()))
                    defer { before = (seq, countedIndex) }
                    // Of messages with the same index, only the first one counts. After a deleted range, it may be
                    // gone.
                    guard countedIndex > before.countedIndex, countedIndex > base, numbers.contains(countedIndex),
                        seq == before.seq + 1 || traits.countsUnread
                    else { return true }
                    if block.contains(countedIndex) ? !isMine && !hidden.contains(seq) : isMine && traits.countsUnread {
                        try found("\(row.id): whether \(user) counts message \(seq) contradicts the log")
                    }
                    return true
                })
        }
    }

    /// Verifies that the sets of the replies in threads have all replies that count.
    ///
    /// A thread whose first message is about to be removed gets no further replies.
    private mutating func checkReplies(of row: ConversationRow) throws {
        let deletedRanges = SeqRangeSet(try reader.deletedRanges(of: nil, in: row.number).map(\.places))
        try connection.run(statements.replies, bind: { $0.add(row.number) }) { columns in
            let (seq, countedIndex) = (columns.integer(), columns.integer())
            let traits = MessageType(rawValue: columns.text()).traits
                .restricted(by: MessageTraits(bits: columns.integer()))
            let thread = MessageID(try columns.uuid("thread"))
            let first = columns.integer()
            guard first >= row.firstSeq, !deletedRanges.contains(first) else { return true }
            if traits.countsUnread, try !reader.isIn(.replies(thread), countedIndex, of: row.number) {
                try found("\(row.id): message \(seq) is not in the set of the replies in its thread")
            }
            return true
        }
    }

    private mutating func checkMentions(of row: ConversationRow) throws {
        try connection.run(statements.mentions, bind: { $0.add(row.number) }) { columns in
            let seq = columns.integer()
            let sender = columns.text()
            guard let actual = columns.optionalText() else {
                try found("\(row.id): a mention refers to message \(seq), which does not exist")
                return true
            }
            if !sender.utf8.elementsEqual(actual.utf8) {
                try found(
                    "\(row.id): the mention at \(seq) has the sender \(sender), but the message has \(actual)")
            }
            return true
        }
    }
}
