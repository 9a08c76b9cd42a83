import ScrollbackEngine
import ScrollbackModel
import StoreFiles

extension Verification {
    /// Places are dense but for what is gone, times rise, and the running number rises by one exactly where a message
    /// counts, or did before it was deleted; the conversation's row stands where its newest message does.
    mutating func checkLog(of row: ConversationRow) throws {
        let voids = SeqRangeSet(try reader.voids(of: nil, in: row.number).map(\.places))
        var seq = row.sweptSeq - 1
        // Of what is gone nothing tells how much of it counted.
        var n: Int64?
        var time: Timetoken?
        var traits: [String: MessageTraits] = [:]
        try connection.run(statements.messages, bind: { $0.add(row.number) }) { columns in
            let place = columns.integer()
            let number = columns.integer()
            let timetoken = Timetoken(rawValue: columns.bits())
            let type = columns.text()
            let off = MessageTraits(bits: columns.integer())
            let isStub = columns.flag()
            let rev = columns.integer()
            countMessage()

            if place <= seq {
                try found("\(row.id): message \(place) lies below the first place, \(row.sweptSeq)")
                return true
            }
            if place > seq + 1 {
                n = nil
                for missing in voids.missing(in: max(seq + 1, row.firstSeq)...max(place - 1, row.firstSeq)).ranges
                where missing.upperBound < place {
                    try found("\(row.id): \(Self.places(missing.lowerBound, missing.upperBound)) missing")
                }
            }
            if place == row.firstSeq {
                if let n, !(n...max(n, number)).contains(row.floorN) {
                    try found(
                        "\(row.id): the running number below the floor is \(row.floorN), and the message's there \(n)")
                }
                n = row.floorN
            }
            let typeTraits = traits[type] ?? MessageType(rawValue: type).traits
            if traits.count < 100 { traits[type] = typeTraits }
            if let n {
                // A stub that counted has a number of its own, which is removed.
                let counts =
                    try typeTraits.less(off).countsUnread
                    || isStub && number == n + 1 && reader.isIn(.removed, number, of: row.number)
                if number != n + (counts ? 1 : 0) {
                    try found(
                        "\(row.id): message \(place) has the running number \(number), not \(n + (counts ? 1 : 0))")
                }
            }
            if let time, timetoken <= time {
                try found("\(row.id): message \(place) has the time \(timetoken), not after \(time) of the one before")
            }
            if rev > row.rev { try found("\(row.id): message \(place) was changed by \(rev), above \(row.rev)") }
            if place >= row.firstSeq, try reader.isIn(.deleted, place, of: row.number) != isStub {
                try found("\(row.id): whether message \(place) was deleted is said in two ways")
            }
            (seq, n, time) = (place, number, timetoken)
            return true
        }
        let end = voids.range(containing: row.head)?.lowerBound ?? row.head + 1
        if row.firstSeq <= row.head, seq < end - 1 {
            try found("\(row.id): the head is \(row.head), and the newest message \(seq)")
        }
        if row.recentSeq > row.head {
            try found(
                "\(row.id): the head is \(row.head), and the newest message of the list of recents \(row.recentSeq)")
        }
        if seq > row.head { try found("\(row.id): the head is \(row.head), and the newest message \(seq)") }
        if seq == row.head, let n, n != row.n {
            try found("\(row.id): the running number is \(row.n), and the newest message's \(n)")
        }
        if seq == row.head, let time, time != row.timetoken {
            try found("\(row.id): the newest time is \(row.timetoken), and the newest message's \(time)")
        }
        try checkIDs(of: row)
    }

    /// Changes are numbered without holes from what was forgotten up to the newest.
    mutating func checkChanges(of row: ConversationRow) throws {
        var last = row.changeFloor
        try connection.run(statements.changes, bind: { $0.add(row.number) }) { columns in
            let rev = columns.integer()
            if rev != last + 1 { try found("\(row.id): change \(rev) comes after \(last)") }
            last = rev
            return true
        }
        if last != row.rev {
            try found("\(row.id): the newest change is \(row.rev), and the log of changes ends at \(last)")
        }
    }

    private mutating func checkIDs(of row: ConversationRow) throws {
        var last: MessageID?
        try connection.run(statements.ids, bind: { $0.add(row.number) }) { columns in
            guard let uuid = columns.optionalUUID() else {
                try found("\(row.id): a message's id is not sixteen bytes")
                return true
            }
            let id = MessageID(uuid)
            if id == last { try found("\(row.id): two messages have the id \(id)") }
            last = id
            return true
        }
    }

    private static func places(_ first: Seq, _ last: Seq) -> String {
        first == last ? "message \(first) is" : "messages \(first) to \(last) are"
    }

    /// The running number at a place.
    func number(at seq: Seq, in row: ConversationRow) throws -> Int64 {
        try reader.place(atOrBelow: seq, in: row.number)?.n ?? row.floorN
    }
}
