import ScrollbackEngine
import ScrollbackModel
import StoreFiles

extension Verification {
    /// Places are dense, times rise, and the running number rises by one exactly where a message counts; the
    /// conversation's row stands where its newest message does.
    mutating func checkLog(of row: ConversationRow) throws {
        var seq = row.firstSeq - 1
        var n = row.floorN
        var time: Timetoken?
        var traits: [String: MessageTraits] = [:]
        try connection.run(statements.messages, bind: { $0.add(row.number) }) { columns in
            let place = columns.integer()
            let number = columns.integer()
            let timetoken = Timetoken(rawValue: columns.bits())
            let type = columns.text()
            let off = MessageTraits(bits: columns.integer())
            countMessage()

            if place <= seq {
                try found("\(row.id): message \(place) lies below the first place, \(row.firstSeq)")
                return true
            }
            if place > seq + 1 {
                try found("\(row.id): \(Self.places(seq + 1, place - 1)) missing")
            }
            let typeTraits = traits[type] ?? MessageType(rawValue: type).traits
            if traits.count < 100 { traits[type] = typeTraits }
            let expected = n + (typeTraits.less(off).countsUnread ? 1 : 0)
            if number != expected {
                try found("\(row.id): message \(place) has the running number \(number), not \(expected)")
            }
            if let time, timetoken <= time {
                try found("\(row.id): message \(place) has the time \(timetoken), not after \(time) of the one before")
            }
            (seq, n, time) = (place, number, timetoken)
            return true
        }
        if seq != row.head { try found("\(row.id): the head is \(row.head), and the newest message \(seq)") }
        if n != row.n { try found("\(row.id): the running number is \(row.n), and the newest message's \(n)") }
        if let time, time != row.timetoken {
            try found("\(row.id): the newest time is \(row.timetoken), and the newest message's \(time)")
        }
        try checkIDs(of: row)
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
        var n = row.floorN
        try connection.run(
            statements.numberAt,
            bind: {
                $0.add(row.number)
                $0.add(seq)
            },
            row: {
                n = $0.integer()
                return false
            })
        return n
    }
}
