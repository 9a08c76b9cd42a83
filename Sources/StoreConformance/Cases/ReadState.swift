import ScrollbackEngine
import ScrollbackModel

extension StoreConformance {
    static let readState: [Case] = [
        Case("Times of membership are added, ended, and listed oldest first") { store in
            let conversation = try store.make(.group("a")).number
            try store.change { store in
                try store.put(SpanRow(joined: 7), of: "alice", in: conversation)
                try store.put(SpanRow(joined: 0, left: 5), of: "alice", in: conversation)
                try store.put(SpanRow(joined: 1), of: "bob", in: conversation)
                try store.put(SpanRow(joined: 2), of: "alice", in: conversation + 1)
            }
            try store.read { store in
                try expectEqual(
                    try store.spans(of: "alice", in: conversation),
                    [SpanRow(joined: 0, left: 5), SpanRow(joined: 7)])
                try expectEqual(try store.spans(of: "bob", in: conversation), [SpanRow(joined: 1)])
                try expectEqual(try store.spans(of: "carol", in: conversation), [])
            }
            try store.change { try $0.put(SpanRow(joined: 7, left: 7), of: "alice", in: conversation) }
            try store.change { try $0.put(SpanRow(joined: 17_000_000_000_000_000), of: "alice", in: conversation) }
            try expectEqual(
                try store.read { try $0.spans(of: "alice", in: conversation) },
                [SpanRow(joined: 0, left: 5), SpanRow(joined: 7, left: 7), SpanRow(joined: 17_000_000_000_000_000)])
            // Joined again at the place they left.
            try store.change { try $0.put(SpanRow(joined: 7), of: "alice", in: conversation) }
            try expectEqual(
                try store.read { try $0.spans(of: "alice", in: conversation)[1] }, SpanRow(joined: 7))
        },
        Case("Runs are added, made longer, and found from a running number down") { store in
            let conversation = try store.make(.group("a")).number
            let runs = [
                HiddenRow(lowerSeq: 2, upperSeq: 2, lowerN: 1, upperN: 2, below: 17),
                HiddenRow(lowerSeq: 5, upperSeq: 9, lowerN: 4, upperN: 7, below: 18),
                HiddenRow(lowerSeq: 20, upperSeq: 21, lowerN: 15, upperN: 17, below: 21),
            ]
            try store.change { store in
                for run in runs { try store.put(run, of: "alice", in: conversation) }
                try store.put(runs[0], of: "bob", in: conversation)
                try store.put(runs[1], of: "alice", in: conversation + 1)
            }
            try store.read { (store: any StoreReader) in
                func atOrBelow(_ n: Int64, _ user: UserID = "alice") throws -> HiddenRow? {
                    try store.hidden(of: user, in: conversation, atOrBelowN: n)
                }
                for n: Int64 in [-1, 0] { try expectEqual(try atOrBelow(n), nil) }
                for n: Int64 in [1, 2, 3] { try expectEqual(try atOrBelow(n), runs[0]) }
                for n: Int64 in [4, 6, 7, 14] { try expectEqual(try atOrBelow(n), runs[1]) }
                for n: Int64 in [15, 17, .max] { try expectEqual(try atOrBelow(n), runs[2]) }
                try expectEqual(try store.lastHidden(of: "alice", in: conversation), runs[2])
                try expectEqual(try store.firstHidden(of: "alice", in: conversation), runs[0])
                try expectEqual(try store.firstHidden(of: "alice", in: conversation + 1), runs[1])
                try expectEqual(try atOrBelow(.max, "bob"), runs[0])
                try expectEqual(try store.firstHidden(of: "carol", in: conversation), nil)
                try expectEqual(try atOrBelow(.max, "carol"), nil)
            }
            var longer = runs[2]
            longer.upperSeq = 23
            longer.upperN = 18
            try store.change { [longer] in try $0.put(longer, of: "alice", in: conversation) }
            try store.read { [longer] store in
                try expectEqual(try store.runs(of: "alice", in: conversation), [runs[0], runs[1], longer])
                try expectEqual(try store.lastHidden(of: "alice", in: conversation), longer)
            }
        },
        Case("Runs that end at or below a running number are dropped") { store in
            let conversation = try store.make(.group("a")).number
            let runs = [
                HiddenRow(lowerSeq: 2, upperSeq: 2, lowerN: 1, upperN: 2, below: 0),
                HiddenRow(lowerSeq: 5, upperSeq: 9, lowerN: 4, upperN: 7, below: 1),
            ]
            try store.change { store in
                for run in runs { try store.put(run, of: "alice", in: conversation) }
                try store.put(runs[0], of: "bob", in: conversation)
                try store.put(runs[0], of: "alice", in: conversation + 1)
            }
            func rest() throws -> [HiddenRow] { try store.read { try $0.runs(of: "alice", in: conversation) } }
            let steps: [(Int64, [HiddenRow])] = [(1, runs), (2, [runs[1]]), (4, [runs[1]]), (6, [runs[1]]), (.max, [])]
            for (n, left) in steps {
                try store.change { try $0.dropHidden(of: "alice", in: conversation, throughN: n) }
                try expectEqual(try rest(), left)
                try expectEqual(try store.read { try $0.firstHidden(of: "alice", in: conversation) }, left.first)
            }
            try store.read { store in
                try expectEqual(try store.lastHidden(of: "bob", in: conversation), runs[0])
                try expectEqual(try store.lastHidden(of: "alice", in: conversation + 1), runs[0])
            }
        },
        Case("A user's mentions are those of them and of everyone, but not their own, each place once") { store in
            let row = try store.make(.group("a"), messages: 9)
            let other = try store.make(.group("b"), messages: 9)
            try store.change { store in
                try store.insertMention(of: "alice", by: "bob", at: 7, in: row.number)
                try store.insertMention(of: "alice", by: "bob", at: 2, in: row.number)
                try store.insertMention(of: nil, by: "bob", at: 2, in: row.number)
                try store.insertMention(of: nil, by: "bob", at: 4, in: row.number)
                try store.insertMention(of: nil, by: "bob", at: 4, in: row.number)
                try store.insertMention(of: nil, by: "alice", at: 5, in: row.number)
                try store.insertMention(of: "alice", by: "alice", at: 6, in: row.number)
                try store.insertMention(of: "carol", by: "bob", at: 8, in: row.number)
                try store.insertMention(of: "alice", by: "bob", at: 9, in: other.number)
            }
            try store.read { (store: any StoreReader) in
                func mentions(_ user: UserID, above seq: Seq = 0) throws -> [Seq] {
                    try store.mentions(of: user, in: row.number, above: seq)
                }
                try expectEqual(try mentions("alice"), [2, 4, 7])
                try expectEqual(try mentions("alice", above: 1), [2, 4, 7])
                try expectEqual(try mentions("alice", above: 2), [4, 7])
                try expectEqual(try mentions("alice", above: 7), [])
                try expectEqual(try mentions("alice", above: .max), [])
                try expectEqual(try mentions("bob"), [5])
                try expectEqual(try mentions("carol"), [2, 4, 5, 8])
                try expectEqual(try mentions("dave"), [2, 4, 5])
                try expectEqual(try store.mentions(of: "alice", in: other.number, above: 0), [9])
            }
        },
    ]
}
