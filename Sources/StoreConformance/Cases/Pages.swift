import ScrollbackEngine
import ScrollbackModel

extension StoreConformance {
    static let pages: [Case] = [
        Case("A page has the newest or the oldest messages of a range") { store in
            try store.makeConversation(.group("a"), messages: 12)
            let row = try store.makeConversation(.group("b"), messages: 10)
            try store.makeConversation(.group("c"), messages: 12)
            try store.read { (store: any StoreReader) in
                func page(_ range: SeqRange, newestFirst: Bool, limit: Int) throws -> [Seq] {
                    try store.messages(
                        in: row.number, range, newestFirst: newestFirst, limit: limit, filter: .all, reader: "alice"
                    ).map(\.seq)
                }
                try expectEqual(try page(1...10, newestFirst: true, limit: 3), [10, 9, 8])
                try expectEqual(try page(1...10, newestFirst: false, limit: 3), [1, 2, 3])
                try expectEqual(try page(4...6, newestFirst: true, limit: 50), [6, 5, 4])
                try expectEqual(try page(4...6, newestFirst: false, limit: 3), [4, 5, 6])
                try expectEqual(try page(5...5, newestFirst: false, limit: 1), [5])
                try expectEqual(try page(1...10, newestFirst: true, limit: 0), [])
                try expectEqual(try page(1...10, newestFirst: false, limit: .max).count, 10)
                try expectEqual(try page(0...2, newestFirst: true, limit: 5), [2, 1])
                try expectEqual(try page(-5...2, newestFirst: false, limit: 5), [1, 2])
                try expectEqual(try page(9...Seq.max, newestFirst: false, limit: 5), [9, 10])
                try expectEqual(try page(9...Seq.max, newestFirst: true, limit: 1), [10])
                try expectEqual(try page(11...20, newestFirst: true, limit: 5), [])
                try expectEqual(try page(-5...0, newestFirst: true, limit: 5), [])
            }
        },
        Case("A page ends when its budget is used up, and always includes the first message") { store in
            let row = try store.makeConversation(.group("a"), messages: 10)
            let weight = MessageRow.sample(1).weight
            try store.read { (store: any StoreReader) in
                for filter in [MessageFilter.all, .types([.text])] {
                    func page(_ budget: inout ResponseBudget, newestFirst: Bool = true) throws -> [Seq] {
                        try store.messages(
                            in: row.number, 1...10, newestFirst: newestFirst, budget: &budget, filter: filter,
                            reader: "alice"
                        ).map(\.seq)
                    }
                    var budget = ResponseBudget(messages: 9, bytes: 3 * weight + weight / 2)
                    try expectEqual(try page(&budget), [10, 9, 8])
                    try expect(budget.isFull, "the budget is not used up")
                    try expectEqual(try page(&budget), [])
                    budget = ResponseBudget(messages: 9, bytes: 2 * weight)
                    try expectEqual(try page(&budget, newestFirst: false), [1, 2])
                    budget = ResponseBudget(messages: 9, bytes: 1)
                    try expectEqual(try page(&budget), [10])
                    budget = ResponseBudget(messages: 4, bytes: .max)
                    try expectEqual(try page(&budget), [10, 9, 8, 7])
                    try expect(budget.isFull, "the budget is not used up")
                    budget = ResponseBudget(messages: 11, bytes: .max)
                    try expectEqual(try page(&budget).count, 10)
                    try expect(!budget.isFull, "the budget is used up")
                }
            }
        },
        Case("A page has the rows of the log with all fields") { store in
            let row = try store.makeConversation(.group("a"))
            let log = mixedLog()
            try store.write { store, commit in
                var row = row
                try store.append(log, to: &row, commit)
            }
            try store.read { store in
                try expectEqual(try store.log(of: row.number), log)
                let newest = try store.messages(
                    in: row.number, 1...Seq.max, newestFirst: true, limit: .max, filter: .all, reader: "alice")
                try expectEqual(newest, log.reversed())
            }
        },
        Case("The limit applies after the filter") { store in
            let row = try store.makeConversation(.group("a"))
            let log = mixedLog()
            try store.write { store, commit in
                var row = row
                try store.append(log, to: &row, commit)
            }
            let name = ConversationID.group("a")
            try store.read { store in
                for filter in filters {
                    for (range, limit) in [(1...Seq.max, Int.max), (1...Seq.max, 3), (20...50, 4), (20...50, 0)] {
                        for newestFirst in [true, false] {
                            var expected = log.filter { message in
                                let whole = message.message(in: name, epoch: Epoch(rawValue: 0))
                                return range.contains(message.seq) && filter.matches(whole, reader: "alice")
                            }
                            if newestFirst { expected.reverse() }
                            let found = try store.messages(
                                in: row.number, range, newestFirst: newestFirst, limit: limit, filter: filter,
                                reader: "alice")
                            try expectEqual(
                                found.map(\.seq), expected.prefix(limit).map(\.seq),
                                "\(filter) in \(range), \(newestFirst ? "newest" : "oldest") first, at most \(limit),")
                        }
                    }
                }
            }
        },
        Case("A filter can have long lists") { store in
            let row = try store.makeConversation(.group("a"), messages: 20)
            let senders = Set((0..<100).map { UserID(known: "user-\($0)") })
            let types = Set((0..<100).map { MessageType(rawValue: "app:\($0)") })
            let customTypes = Set((0..<100).map { Optional("type \($0)") })
            try store.read { (store: any StoreReader) in
                let count = { (filter: MessageFilter) in
                    try store.messages(
                        in: row.number, 1...20, newestFirst: true, limit: 100, filter: filter, reader: "alice"
                    ).count
                }
                let all = MessageFilter(
                    types: types.union([.text]), excludedTypes: types, customTypes: customTypes.union([nil]),
                    senders: senders.union(["alice"]))
                try expectEqual(try count(all), 20)
                try expectEqual(
                    try count(
                        MessageFilter(types: types, excludedTypes: types, customTypes: customTypes, senders: senders)),
                    0)
            }
        },
    ]

    /// Returns the same sixty messages of several senders, types and attributes each time.
    private static func mixedLog() -> [MessageRow] {
        var generator = SplitMix64(seed: 11)
        let senders: [UserID] = ["alice", "bob", "Alice", "عَلي"]
        let types: [MessageType] = [
            .text, .notice, MessageType(rawValue: "app:poll"), MessageType(rawValue: "Text"), .image,
        ]
        let customTypes: [String?] = [nil, nil, "a", "A", "b c", "\u{0}"]
        let mentions: [Mentions?] = [
            nil, nil, nil, .users(["alice"]), .users(["bob"]), .everyone(), .everyone(also: ["alice"]),
            .users(["bob", "alice"]), .users(["Alice"]),
        ]
        return (1...60).map { seq in
            var row = MessageRow.sample(Seq(seq))
            row.sender = senders.randomElement(using: &generator) ?? "alice"
            row.type = types.randomElement(using: &generator) ?? .text
            row.attributes.customType = customTypes.randomElement(using: &generator) ?? nil
            row.attributes.mentions = mentions.randomElement(using: &generator) ?? nil
            row.thread = [nil, nil, MessageID(3), MessageID(4)].randomElement(using: &generator) ?? nil
            return row
        }
    }

    private static let filters: [MessageFilter] = [
        .all, .types([.text]), .types([.text, .notice]), .types([]), .types([MessageType(rawValue: "nothing")]),
        MessageFilter(excludedTypes: [.text]), MessageFilter(excludedTypes: []),
        MessageFilter(excludedTypes: [.notice, MessageType(rawValue: "app:poll")]),
        MessageFilter(types: [.text, .notice], excludedTypes: [.text]), .customTypes([nil]), .customTypes(["a"]),
        .customTypes(["a", nil]), .customTypes(["\u{0}"]), .customTypes([]), .customTypes(["b c", "A"]),
        .senders(["alice"]), .senders(["عَلي", "Alice"]), .senders([]), .senders(["nobody"]), .mentionsMe,
        MessageFilter(types: [.text], senders: ["alice"], mentionsMe: true),
        MessageFilter(excludedTypes: [.notice], customTypes: [nil, "a"], senders: ["alice", "bob"]), .hasMedia,
        .types([.image, .file]), .thread(MessageID(3)), .thread(MessageID(999)), .noReplies,
        MessageFilter(senders: ["alice"], mentionsMe: true, excludesReplies: true),
        MessageFilter(types: [.image], senders: ["alice"], hasMedia: true),
        MessageFilter(customTypes: ["a"], mentionsMe: true, thread: MessageID(3)),
    ]
}
