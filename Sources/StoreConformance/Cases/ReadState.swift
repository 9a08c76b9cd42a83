import ScrollbackEngine
import ScrollbackModel

extension StoreConformance {
    static let readState: [Case] = [
        Case("Membership times are added, ended, and listed oldest first") { store in
            let conversation = try store.makeConversation(.group("a")).number
            try store.transaction { store in
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
            try store.transaction { try $0.put(SpanRow(joined: 7, left: 7), of: "alice", in: conversation) }
            try store.transaction { try $0.put(SpanRow(joined: 17_000_000_000_000_000), of: "alice", in: conversation) }
            try expectEqual(
                try store.read { try $0.spans(of: "alice", in: conversation) },
                [SpanRow(joined: 0, left: 5), SpanRow(joined: 7, left: 7), SpanRow(joined: 17_000_000_000_000_000)])
            // The user joined again at the same sequence number.
            try store.transaction { try $0.put(SpanRow(joined: 7), of: "alice", in: conversation) }
            try expectEqual(
                try store.read { try $0.spans(of: "alice", in: conversation)[1] }, SpanRow(joined: 7))
        },
        Case("A membership keeps how it ended until the user joins again at the same sequence number") { store in
            let conversation = try store.makeConversation(.group("a")).number
            let ends = [
                SpanRow.End(time: Timetoken(rawValue: 1 << 63 | 9), rev: 7, isVoluntary: true, name: "", avatar: nil),
                SpanRow.End(time: Timetoken(rawValue: 0), rev: 0, isVoluntary: false, name: "ä", avatar: "https://a"),
            ]
            let spans = [SpanRow(joined: 1, left: 2, end: ends[0]), SpanRow(joined: 3, left: 3, end: ends[1])]
            try store.transaction { for span in spans { try $0.put(span, of: "alice", in: conversation) } }
            try expectEqual(try store.read { try $0.spans(of: "alice", in: conversation) }, spans)
            try store.transaction { try $0.put(SpanRow(joined: 3), of: "alice", in: conversation) }
            try expectEqual(
                try store.read { try $0.spans(of: "alice", in: conversation) }, [spans[0], SpanRow(joined: 3)])
        },
        Case("Bit sets are stored by conversation, kind and owner, in blocks of 1,024") { store in
            let conversation = try store.makeConversation(.group("a")).number
            let sets: [BitSet] = [.removed, .deleted, .uncounted("alice"), .uncounted("bob"), .uncounted("0")]
            try store.transaction { store in
                for (offset, set) in sets.enumerated() {
                    var block = BitBlock(index: Int64(offset % 2))
                    block.insert(0...5_000)
                    var last = BitBlock(index: 1_000_000 / 1024)
                    last.insert((last.range.upperBound - Int64(offset))...last.range.upperBound)
                    try store.put(block, of: set, in: conversation)
                    try store.put(last, of: set, in: conversation)
                }
                var other = BitBlock(index: 7)
                other.insert(7_500...7_500)
                try store.put(other, of: .removed, in: conversation + 1)
            }
            try store.read { store in
                for (offset, set) in sets.enumerated() {
                    let all = try store.bits(set, of: conversation, blocks: 0...(.max))
                    try expectEqual(all.map(\.index), [Int64(offset % 2), 1_000_000 / 1024])
                    try expectEqual(all.map { $0.count(in: 0...(.max)) }, [1024, Int64(offset + 1)])
                    try expectEqual(try store.bits(set, of: conversation, blocks: 2...3), [])
                }
                try expectEqual(try store.numbers(.removed, of: conversation + 1), [7_500])
                try expectEqual(try store.numbers(.uncounted("carol"), of: conversation), [])
            }
            try store.transaction { try $0.dropBits(.uncounted("alice"), of: conversation, below: 900) }
            try store.transaction { try $0.put(BitBlock(index: 1), of: .uncounted("bob"), in: conversation) }
            try store.read { store in
                let left = try store.bits(.uncounted("alice"), of: conversation, blocks: 0...(.max))
                try expectEqual(left.map(\.index), [1_000_000 / 1024])
                try expectEqual(try store.bits(.removed, of: conversation, blocks: 0...1).count, 1)
                let emptied = try store.bits(.uncounted("bob"), of: conversation, blocks: 1...1)
                try expect(emptied.allSatisfy(\.isEmpty), "a replaced block is unchanged")
            }
        },
        Case("Deleted ranges are stored by owner, listed in order, and identified by their lower bound") { store in
            let conversation = try store.makeConversation(.group("a")).number
            let rows = [
                DeletedRangeRow(3...7, userRev: 2), DeletedRangeRow(9...9, holdsMessages: true),
                DeletedRangeRow(20...2_000_000_000_000),
            ]
            try store.transaction { store in
                for row in rows.reversed() { try store.put(row, of: nil, in: conversation) }
                try store.put(rows[1], of: "alice", in: conversation)
                try store.put(rows[2], of: nil, in: conversation + 1)
            }
            try expectEqual(try store.read { try $0.deletedRanges(of: nil, in: conversation) }, rows)
            try expectEqual(try store.read { try $0.deletedRanges(of: "alice", in: conversation) }, [rows[1]])
            try expectEqual(try store.read { try $0.deletedRanges(of: "bob", in: conversation) }, [])
            try store.transaction { store in
                try store.put(DeletedRangeRow(3...8, userRev: 5), of: nil, in: conversation)
                try store.dropDeletedRange(from: 9, of: nil, in: conversation)
                try store.dropDeletedRange(from: 10, of: nil, in: conversation)
            }
            try store.read { store in
                try expectEqual(
                    try store.deletedRanges(of: nil, in: conversation), [DeletedRangeRow(3...8, userRev: 5), rows[2]])
                try expectEqual(try store.deletedRanges(of: "alice", in: conversation), [rows[1]])
                try expectEqual(try store.deletedRanges(of: nil, in: conversation + 1), [rows[2]])
            }
        },
        Case("The mentions of a user include those of everyone, without their own, each message once") { store in
            let row = try store.makeConversation(.group("a"), messages: 9)
            let other = try store.makeConversation(.group("b"), messages: 9)
            try store.transaction { store in
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
