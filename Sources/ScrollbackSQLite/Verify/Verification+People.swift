import ScrollbackEngine
import ScrollbackModel
import StoreFiles

extension Verification {
    /// What belongs to somebody: positions, times of membership, runs they don't count, and mentions.
    mutating func checkPeople(of row: ConversationRow) throws {
        try checkPositions(of: row)
        try checkSpans(of: row)
        try checkRuns(of: row)
        try checkMentions(of: row)
    }

    private mutating func checkPositions(of row: ConversationRow) throws {
        try connection.run(statements.members, bind: { $0.add(row.number) }) { columns in
            let member = try columns.member()
            func check(_ name: String, _ seq: Seq, _ n: Int64) throws {
                guard (0...row.head).contains(seq) else {
                    return try found("\(row.id): \(member.user)'s \(name) place \(seq) is not in 0...\(row.head)")
                }
                // Below the floor the log no longer says; the number there was no higher than at the floor.
                let isGone = seq < row.firstSeq - 1
                let expected = isGone ? row.floorN : try number(at: seq, in: row)
                if isGone ? n > expected : n != expected {
                    try found(
                        "\(row.id): \(member.user)'s \(name) number at \(seq) is \(n), and the message's \(expected)")
                }
            }
            try check("read", member.readSeq, member.readN)
            try check("clear", member.clearSeq, member.clearN)
            // A reader has the number, but not the place: they joined the community, at a time.
            if member.standing != .reader { try check("join", member.joinSeq, member.joinN) }
            return true
        }
    }

    private mutating func checkSpans(of row: ConversationRow) throws {
        var user = ""
        var end: UInt64? = 0
        try connection.run(statements.spans, bind: { $0.add(row.number) }) { columns in
            let name = columns.text()
            // Of a community these are times without a sign; places have the same order either way.
            let joined = columns.bits()
            let left = columns.optionalInteger().map { UInt64(bitPattern: $0) }
            if name != user { (user, end) = (name, 0) }
            if end.map({ joined < $0 }) ?? true {
                try found("\(row.id): \(user)'s membership from \(joined) begins before the one before it ended")
            }
            if let left, left < joined {
                try found("\(row.id): \(user)'s membership from \(joined) ended before, at \(left)")
            }
            end = left
            return true
        }
    }

    private mutating func checkRuns(of row: ConversationRow) throws {
        var user = ""
        let nothing = HiddenRow(lowerSeq: 0, upperSeq: 0, lowerN: 0, upperN: -1, below: 0)
        var last = nothing
        try connection.run(statements.runs, bind: { $0.add(row.number) }) { columns in
            let name = columns.text()
            let run = columns.hidden()
            if name != user {
                user = name
                last = nothing
                // Runs below the lowest were forgotten: what they held can't be checked any more.
                last.below = run.below
            }
            let range = "\(run.lowerSeq) to \(run.upperSeq)"
            if run.below != last.sum() {
                try found("\(row.id): below \(user)'s own run \(range) lie \(last.sum()), and it says \(run.below)")
            }
            if run.lowerSeq <= last.upperSeq || run.lowerN <= last.upperN {
                try found("\(row.id): \(user)'s own run \(range) begins before the one before it ended")
            }
            if run.upperSeq < run.lowerSeq || run.upperSeq > row.head {
                try found("\(row.id): \(user)'s own run \(range) is not a run of this log")
            } else {
                try checkRun(run, of: user, in: row)
            }
            last = run
            return true
        }
    }

    /// What counts in a run is the member's own, and its numbers are those of the log.
    private mutating func checkRun(_ run: HiddenRow, of user: String, in row: ConversationRow) throws {
        let range = "\(run.lowerSeq) to \(run.upperSeq)"
        var foreign = false
        try connection.run(
            statements.runMessages,
            bind: {
                $0.add(row.number)
                $0.add(run.lowerSeq)
                $0.add(run.upperSeq)
            },
            row: { columns in
                let isOwn = columns.text().utf8.elementsEqual(user.utf8)
                let traits = MessageType(rawValue: columns.text()).traits.less(MessageTraits(bits: columns.integer()))
                // A run that was made longer may have notices of others in it, which nobody counts.
                if !isOwn, traits.countsUnread { foreign = true }
                return !foreign
            })
        if foreign { try found("\(row.id): \(user)'s own run \(range) has messages of others that count") }
        let numbers = (lower: try number(at: run.lowerSeq - 1, in: row), upper: try number(at: run.upperSeq, in: row))
        if run.lowerN != numbers.lower || run.upperN != numbers.upper {
            try found(
                "\(row.id): \(user)'s own run \(range) has the numbers \(run.lowerN) to \(run.upperN), "
                    + "and the log \(numbers.lower) to \(numbers.upper)")
        }
    }

    private mutating func checkMentions(of row: ConversationRow) throws {
        try connection.run(statements.mentions, bind: { $0.add(row.number) }) { columns in
            let seq = columns.integer()
            let sender = columns.text()
            guard let actual = columns.optionalText() else {
                try found("\(row.id): a mention points at message \(seq), which is not there")
                return true
            }
            if !sender.utf8.elementsEqual(actual.utf8) {
                try found(
                    "\(row.id): the mention at \(seq) says it was sent by \(sender), and the message by \(actual)")
            }
            return true
        }
    }
}
