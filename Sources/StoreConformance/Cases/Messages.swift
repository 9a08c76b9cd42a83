import Foundation
import ScrollbackEngine
import ScrollbackModel

extension StoreConformance {
    static let messages: [Case] = [
        Case("A message keeps the values of all fields") { store in
            let full = MessageAttributes(
                mentions: .everyone(also: ["bob", "عَلي 🙂"], pushText: "\u{0} \"!\""),
                metadata: RawJSON(known: #"{ "a":1 }"#), extra: RawJSON(known: "[null,  true]"),
                customType: "a \u{0} é\u{301} \n", push: RawJSON(known: "{}"),
                replyTo: MessageID(high: .max, low: .max),
                traits: MessageTraits(countsUnread: false, updatesRecents: false))
            var first = MessageRow(
                seq: 1, countedIndex: 0, timetoken: Timetoken(rawValue: 5), id: MessageID(high: 0, low: 0), sender: "é",
                type: .text,
                content: RawJSON(known: "{}"), attributes: full, rev: 3,
                editedAt: Date(timeIntervalSinceReferenceDate: 0.1 + 0.2), digest: .min)
            first.attributes.traits.notifies = false
            let tombstone = MessageRow(
                seq: 2, countedIndex: 1, timetoken: Timetoken(rawValue: .max), id: MessageID(high: .max, low: .max),
                sender: "b",
                type: MessageType(rawValue: "com.example.poll"), content: nil,
                attributes: MessageAttributes(mentions: .users(["bob"])), rev: .max, digest: .max)
            var row = try store.makeConversation(.group("a"))
            row = try store.write { [row, first] store, commit in
                var row = row
                try store.append([first, tombstone], to: &row, commit)
                return row
            }
            try store.read { [row, first] store in
                try expectEqual(try store.message(at: 1, in: row.number), first)
                try expectEqual(try store.message(at: 2, in: row.number), tombstone)
                try expectEqual(try store.message(first.id, in: row.number), first)
                try expectEqual(try store.message(atOrBelow: 2, in: row.number), tombstone)
                try expectEqual(try store.log(of: row.number), [first, tombstone])
            }
            try expectEqual(try store.newest, Timetoken(rawValue: .max))
        },
        Case("Mentions keep their values, even if validation would reject them today") { store in
            let mentions: [Mentions] = [
                .users([]), .users(["a", "a"]), .users((0..<300).map { UserID(known: "user-\($0)") }), .everyone(),
                .everyone(pushText: ""), .users([UserID(known: "e\u{301}\"\\")], pushText: "\u{1F600}"),
            ]
            let rows = mentions.enumerated().map { index, mentions in
                MessageRow.sample(Seq(index + 1), attributes: MessageAttributes(mentions: mentions))
            }
            let row = try store.makeConversation(.group("a"))
            try store.write { store, commit in
                var row = row
                try store.append(rows, to: &row, commit)
            }
            try expectEqual(try store.read { try $0.log(of: row.number) }, rows)
        },
        Case("Contents are preserved byte for byte") { store in
            let contents = [
                "{ \"text\" :\t\"a\" ,\r\n \"b\":1.50e+2 }", #"{"text":"\u0000\/\ud83d\ude00 \u00e9"}"#,
                "{\"text\":\"é e\u{301} \u{212B}\"}", #"{"a":1,"a":2}"#, #"{"n":123456789012345678901234567890.000}"#,
                "{\"text\":\"" + String(repeating: "x", count: 100_000) + "\"}",
                "{\"text\":\"" + String(repeating: "😀", count: 30_000) + "\"}", "{}", #"{"text":"غرفة ‏"}"#,
            ]
            let rows = contents.enumerated().map { index, content in
                var row = MessageRow.sample(Seq(index + 1), content: content)
                row.attributes.metadata = row.content
                row.attributes.extra = row.content
                row.attributes.push = row.content
                return row
            }
            let row = try store.makeConversation(.group("a"))
            try store.write { store, commit in
                var row = row
                try store.append(rows, to: &row, commit)
            }
            try store.read { store in
                let found = try store.log(of: row.number)
                try expectEqual(found.count, contents.count)
                for (message, content) in zip(found, contents) {
                    for json in [
                        message.content, message.attributes.metadata, message.attributes.extra, message.attributes.push,
                    ] {
                        try expect(
                            json.map { $0.text.utf8.elementsEqual(content.utf8) } ?? false,
                            "\(content.prefix(60)) was returned as \(json?.text.prefix(60) ?? "nothing")")
                    }
                }
            }
        },
        Case("A message is found by its ID only in its own conversation") { store in
            let first = try store.makeConversation(.group("a"), messages: 3)
            let second = try store.makeConversation(.group("b"))
            var same = MessageRow.sample(1)
            same.sender = "bob"
            try store.write { [same] store, commit in
                var row = second
                try store.append([same], to: &row, commit)
            }
            try store.read { [same] store in
                try expectEqual(try store.message(same.id, in: second.number), same)
                try expectEqual(try store.message(same.id, in: first.number)?.sender, "alice")
                try expect(try store.message(MessageID(2), in: second.number) == nil, "another log's message is found")
                try expect(
                    try store.message(MessageID(high: 0, low: 2), in: first.number) == nil, "half an ID finds a message"
                )
            }
        },
        Case("A duplicate sequence number or ID is rejected, and the transaction is rolled back") { store in
            let row = try store.makeConversation(.group("a"), messages: 3)
            try expectError("a duplicate sequence number") {
                try store.transaction { store in
                    try store.insert(.sample(4), in: row.number)
                    try store.insert(.sample(3, id: MessageID(99)), in: row.number)
                }
            }
            try expectError("a duplicate ID") {
                try store.transaction { store in
                    try store.insert(.sample(4), in: row.number)
                    try store.insert(.sample(5, id: MessageID(2)), in: row.number)
                }
            }
            try expectEqual(try store.read { try $0.log(of: row.number) }, (1...3).map { .sample($0) })
            try store.transaction { try $0.insert(.sample(4), in: row.number) }
            try expectEqual(try store.read { try $0.log(of: row.number) }, (1...4).map { .sample($0) })
        },
        Case("Messages are found at, and at or below, a sequence number") { store in
            let before = try store.makeConversation(.group("a"), messages: 5)
            let row = try store.makeConversation(.group("b"))
            try store.makeConversation(.group("c"), messages: 5)
            let log: [MessageRow] = [3, 4, 8].map { .sample($0) }
            try store.write { store, commit in
                var row = row
                try store.append(log, to: &row, commit)
            }
            try store.read { (store: any StoreReader) in
                let below = { (seq: Seq) in try store.message(atOrBelow: seq, in: row.number)?.seq }
                let at = { (seq: Seq) in try store.message(at: seq, in: row.number)?.seq }
                for seq: Seq in [-1, 0, 1, 2] {
                    try expect(try below(seq) == nil, "a message at or below \(seq) exists")
                    try expect(try at(seq) == nil, "a message at \(seq) exists")
                }
                try expectEqual(try below(3), 3)
                try expectEqual(try below(4), 4)
                for seq: Seq in [5, 7] {
                    try expectEqual(try below(seq), 4)
                    try expect(try at(seq) == nil, "a message at \(seq) exists")
                }
                try expectEqual(try at(8), 8)
                for seq: Seq in [8, 9, .max] { try expectEqual(try below(seq), 8) }
                try expect(try at(9) == nil, "a message at 9 exists")
                try expectEqual(try store.message(atOrBelow: .max, in: before.number)?.seq, 5)
            }
        },
        Case("The last position at or before a time skips sequence numbers without messages") { store in
            var row = try store.makeConversation(.group("a"))
            let log: [MessageRow] = [3, 4, 8, 9, 15].map { .sample($0) }
            try store.write { store, commit in try store.append(log, to: &row, commit) }
            for firstSeq: Seq in [1, 4] {
                row.firstSeq = firstSeq
                let visible = log.filter { $0.seq >= firstSeq }
                let far: [UInt64] = [0, 1 << 63 - 1, 1 << 63, .max]
                for time in log.flatMap({ [$0.timetoken.rawValue - 1, $0.timetoken.rawValue] }) + far {
                    let next = visible.first { $0.timetoken.rawValue > time }
                    let found = try store.read {
                        try $0.lastPosition(in: row, atOrBefore: Timetoken(rawValue: time))
                    }
                    // A sequence number without a message has the time of the message before it.
                    try expectEqual(found, next.map { $0.seq - 1 } ?? row.head)
                }
            }
            let empty = try store.makeConversation(.group("b"))
            try expectEqual(try store.read { try $0.lastPosition(in: empty, atOrBefore: Timetoken(rawValue: 1)) }, 0)
        },
    ]
}
