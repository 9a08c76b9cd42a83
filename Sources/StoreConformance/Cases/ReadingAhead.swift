import ScrollbackEngine
import ScrollbackModel

extension StoreConformance {
    static let readingAhead: [Case] = [
        Case("Reading ahead changes no answer of a snapshot") { store in
            let sample = try ReadAheadSample(in: store)
            let plain = try store.read { try sample.answers(of: $0) }
            let ahead = try store.read { store in
                try store.readAhead(sample.summaries)
                try store.readAhead(sample.headsAndLogs)
                // A second time, as for a conversation that is in two lists.
                try store.readAhead(sample.headsAndLogs)
                return try sample.answers(of: store)
            }
            try check(ahead, against: plain)
            try check(try store.read(expecting: sample.summaries) { try sample.answers(of: $0) }, against: plain)
            try check(try store.read(expecting: sample.footprints) { try sample.answers(of: $0) }, against: plain)
        },
        Case("A transaction that read ahead finds its own changes") { store in
            let sample = try ReadAheadSample(in: store)
            let plain = try store.transaction { store in
                try sample.change(store)
                return try sample.answers(of: store)
            }
            let other = try ReadAheadSample(in: store, named: "second")
            let ahead = try store.write(expecting: { other.footprints }) { store, _ in
                try store.readAhead(other.summaries)
                try store.readAhead(other.headsAndLogs)
                try other.change(store)
                return try other.answers(of: store)
            }
            // The samples differ by their names and numbers, which the answers don't contain.
            try check(ahead, against: plain)
        },
        Case("Reading ahead what does not exist is allowed") { store in
            try store.read { store in
                var reads = ExpectedReads()
                reads.heads = .init([.max], of: "alice")
                reads.conversations = [.group("g")]
                reads.numbers = [.max]
                reads.logs = [.init(of: .sample(.group("g")), 1...5, changedAfter: 0, time: Timetoken(rawValue: 1))]
                reads.footprints = [Footprint(.group("g"), "alice", messages: [MessageID(1)], needsAccess: true)]
                try store.readAhead(reads)
                try store.readAhead(ExpectedReads())
                try expectEqual(try store.conversation(.group("g")), nil)
                try expectEqual(try store.conversation(numbered: .max), nil)
                try expectEqual(try store.log(of: 0), [])
                try expectEqual(try store.membershipSummaries(of: "alice", committedAfter: 0, changedAbove: 0), [])
            }
        },
    ]

    private static func check(_ answers: [String], against expected: [String]) throws {
        for (answer, expected) in zip(answers, expected) { try expectEqual(answer, expected, "an answer") }
        try expectEqual(answers.count, expected.count)
    }
}

/// Conversations of the users alice and bob with all kinds of rows that a store may read ahead.
private struct ReadAheadSample {
    private var group: ConversationRow
    private var direct: ConversationRow
    private var community: ConversationRow
    private var channel: ConversationRow
    private let user: UserID
    private let peer: UserID

    init(in store: any MessageStore, named name: String = "sample") throws {
        let id = Identifier(known: name)
        user = UserID(known: "alice-\(name)")
        peer = UserID(known: "bob-\(name)")
        group = try store.makeConversation(.group(id))
        direct = try store.makeConversation(.direct(between: user, and: peer))
        community = try store.makeConversation(.community(id))
        channel = try store.makeConversation(.community(id, channel: "general"))
        try store.makeConversation(.community(id, channel: "Z"), messages: 2)
        try store.makeConversation(.community(id, channel: "a"))
        try store.write { [self] store, commit in
            var (group, direct, channel) = (self.group, self.direct, self.channel)
            let long = #"{"text":"\#(String(repeating: "x", count: 3_000))"}"#
            let huge = #"{"text":"\#(String(repeating: "x", count: 9_000))"}"#
            try store.append(
                [
                    .sample(1, sender: peer), .sample(2, sender: peer, content: long), .sample(3, sender: user),
                    .sample(5, sender: peer), .sample(6, sender: peer, content: huge), .sample(7, sender: peer),
                ], to: &group, commit)
            try store.append(
                (1...9 as SeqRange).map { MessageRow.sample($0, sender: peer, countedIndex: 700 * $0) }, to: &direct,
                commit)
            try store.append(
                (1...5 as SeqRange).map { MessageRow.sample($0, sender: peer) }, to: &channel, commit)
            group.recentSeq = 5
            group.hasDeletedRanges = true
            group.hasMutes = true
            group.rev = 4
            for var row in [group, channel, community] { try store.put(&row) }
            var member = MemberRow(conversation: group.number, user: user, standing: .member)
            (member.readSeq, member.readCountedIndex, member.hasDeletedRanges, member.userRev) = (2, 2, true, 3)
            try store.put(member)
            for number in [direct.number, community.number] {
                for user in [user, peer] {
                    try store.put(MemberRow(conversation: number, user: user, standing: .member))
                }
            }
            try store.put(UserRow(profile: UserProfile(id: user), rev: 5))
            try store.put(SpanRow(joined: 0, left: 1), of: user, in: group.number)
            try store.put(SpanRow(joined: 2), of: user, in: group.number)
            // Between the times of the second and the third message of the channel.
            let joined = try store.message(at: 2, in: channel.number)?.timetoken.rawValue ?? 0
            try store.put(SpanRow(joined: Int64(joined)), of: user, in: community.number)
            try store.put(DeletedRangeRow(4...4), of: nil, in: group.number)
            try store.put(DeletedRangeRow(1...1, userRev: 3), of: user, in: group.number)
            try store.insertMention(of: user, by: peer, at: 5, in: group.number)
            try store.insertMention(of: nil, by: peer, at: 7, in: group.number)
            try store.insertMention(of: nil, by: user, at: 3, in: group.number)
            try store.insert(3...3, into: .uncounted(user), of: group.number)
            try store.insert(700...700, into: .removed, of: direct.number)
            try store.put(Mute.forever, of: user, in: group.number)
            try store.put(ReceiptRow(readSeq: 4), of: peer, in: direct.number)
            for rev: Int64 in 1...4 {
                let kind = rev == 3 ? ChangeRow.Kind.removal : .message
                try store.insert(
                    ChangeRow(
                        rev: rev, kind: kind, places: (rev + 1)...(rev + 1), at: group.timetoken,
                        operation: rev == 2 ? MessageID(99) : nil), in: group.number)
            }
            for number in 1...2 {
                try store.insert(
                    ActionRow(
                        seq: 5, timetoken: Timetoken(rawValue: 100 + UInt64(number)), sender: user, type: "reaction",
                        value: "\(number)"), in: group.number)
            }
            try store.put(ThreadStateRow(thread: MessageID(5), following: .followed), of: peer, in: group.number)
        }
        group = try store.read { try $0.conversation(.group(id)) } ?? group
        direct = try store.read { [direct] in try $0.conversation(direct.id) } ?? direct
        channel = try store.read { [channel] in try $0.conversation(channel.id) } ?? channel
        community = try store.read { [community] in try $0.conversation(community.id) } ?? community
    }

    private var rows: [ConversationRow] { [group, direct, channel, community] }

    var summaries: ExpectedReads {
        var reads = ExpectedReads()
        reads.summaries = .init(of: user, committedAfter: 0, changedAbove: 0)
        return reads
    }

    var headsAndLogs: ExpectedReads {
        var reads = ExpectedReads()
        reads.heads = .init([group, direct, channel].map(\.number), of: user)
        reads.conversations = [group.id]
        reads.numbers = [direct.number, channel.number]
        let time = Timetoken(rawValue: direct.timetoken.rawValue - 3)
        reads.logs = [
            .init(of: group, 1...7, changedAfter: 1), .init(of: direct, 4...9, time: time), .init(of: direct, 1...2),
            .init(of: channel, time: time),
        ]
        return reads
    }

    var footprints: ExpectedReads {
        var reads = ExpectedReads()
        reads.footprints = rows.map { row in
            var footprint = Footprint(
                row.id, user, messages: [MessageID(5), MessageID(9)], needsAccess: true, readsThrough: 5)
            footprint.needsHead = true
            footprint.countsMembers = true
            footprint.operation = MessageID(99)
            footprint.changesActions = true
            footprint.reply = .init(to: MessageID(5), mentions: [user])
            return footprint
        }
        reads.usage = [user]
        reads.includesPushRecipients = true
        return reads
    }

    /// Changes rows of each kind.
    func change(_ store: any StoreWriter) throws {
        var (group, direct) = (self.group, self.direct)
        try store.insert(.sample(8, sender: peer, content: #"{"text":"new"}"#), in: group.number)
        try store.insert(.sample(10, sender: user), in: direct.number)
        (group.head, group.recentSeq, group.rev, direct.head) = (8, 8, 5, 10)
        for var row in [group, direct] { try store.put(&row) }
        if var message = try store.message(at: 5, in: group.number) {
            message.content = RawJSON(known: #"{"text":"edited"}"#)
            try store.update(message, in: group.number)
        }
        try store.insertMention(of: user, by: peer, at: 8, in: group.number)
        try store.dropMention(of: user, at: 5, in: group.number)
        try store.insert(5...6, into: .uncounted(user), of: group.number)
        try store.put(ReceiptRow(readSeq: 6), of: peer, in: direct.number)
        try store.put(DeletedRangeRow(7...7), of: nil, in: group.number)
        try store.put(SpanRow(joined: 2, left: 6), of: user, in: group.number)
        try store.put(nil as Mute?, of: user, in: group.number)
        try store.insert(
            ChangeRow(rev: 5, kind: .message, places: 5...5, at: group.timetoken, operation: MessageID(100)),
            in: group.number)
        try store.insert(
            ActionRow(seq: 5, timetoken: Timetoken(rawValue: 200), sender: user, type: "reaction", value: "new"),
            in: group.number)
        try store.put(ThreadStateRow(thread: MessageID(5), following: .unfollowed), of: peer, in: group.number)
        try store.put(ThreadStateRow(thread: MessageID(5), following: .followed), of: user, in: group.number)
        var member = MemberRow(conversation: channel.number, user: user, standing: .reader)
        member.readSeq = 4
        try store.put(member)
        // The group has a member more than when the members were counted.
        try store.put(MemberRow(conversation: group.number, user: peer, standing: .member))
    }

    /// Returns descriptions of all answers that a store may know, without names and numbers of conversations.
    func answers(of store: any StoreReader) throws -> [String] {
        var answers: [String] = []
        func add(_ name: String, _ answer: Any) { answers.append("\(name): \(answer)") }
        for row in rows {
            let number = row.number
            add("by name", try store.conversation(row.id).map { "\($0.head) \($0.rev) \($0.recentSeq)" } ?? "none")
            add("by number", try store.conversation(numbered: number)?.head ?? -1)
            for user in [user, peer] {
                add("member", try store.member(user, of: number).map { "\($0.standing) \($0.readSeq)" } ?? "none")
                add("spans", try store.spans(of: user, in: number))
                add("ranges", try store.deletedRanges(of: user, in: number))
                add("receipt", try store.receipt(of: user, in: number))
                add("mute", String(describing: try store.mute(of: user, in: number)))
                add("uncounted", try store.numbers(.uncounted(user), of: number))
                add("thread", String(describing: try store.threadState(of: user, in: MessageID(5), of: number)))
                for seq: Seq in 0...8 { add("mentions", try store.mentions(of: user, in: number, above: seq)) }
                add("actions", try store.actions(at: 5, by: user, in: number).map { "\($0.type) \($0.value)" }.sorted())
            }
            for limit in [1, ReceiptRow.maximumMembers + 1, 100] {
                add("members", try store.memberCount(of: number, limit: limit))
            }
            add("ranges", try store.deletedRanges(of: nil, in: number))
            add("removed", try store.numbers(.removed, of: number))
            add("last action", try store.lastAction(in: number)?.rawValue ?? 0)
            for rev: Int64 in 0...5 {
                add("changes", try store.changes(in: number, after: rev, limit: 500).map(\.rev))
                add("changes", try store.changes(in: number, after: rev, limit: 1).map(\.rev))
            }
            for operation in [MessageID(99), MessageID(100)] {
                add("operation", try store.change(operation, in: number)?.rev ?? 0)
            }
            let first = Timetoken(rawValue: max(3, row.timetoken.rawValue) - 3)
            for time in [Timetoken(rawValue: 0), first, row.timetoken] {
                add("by time", try store.lastPosition(in: row, atOrBefore: time))
            }
            try addMessages(in: number, store, add)
        }
        let summaries = try store.membershipSummaries(of: user, committedAfter: 0, changedAbove: 0)
        add("summaries", summaries.map { "\($0.kind) \($0.head) \($0.userRev) \($0.isMember)" })
        add("channels", try store.channelSummaries(of: user, in: community.number).map(\.head))
        add("drafts", try store.drafts(of: user, after: 0, limit: 1).count)
        add("user", try store.user(user)?.rev ?? -1)
        return answers
    }

    private func addMessages(
        in number: Int64, _ store: any StoreReader, _ add: (String, Any) -> Void
    ) throws {
        for seq: Seq in 1...10 {
            add("at", try store.message(at: seq, in: number)?.content?.text ?? "none")
            add("at or below", try store.message(atOrBelow: seq, in: number)?.seq ?? 0)
            add("position", try store.position(atOrBelow: seq, in: number)?.countedIndex ?? 0)
        }
        for range: SeqRange in [1...10, 1...7, 2...3, 4...9, 6...6, 8...20] {
            for newestFirst in [true, false] {
                for limit in [1, 2, 100] {
                    var budget = ResponseBudget(messages: limit, bytes: 8_000)
                    let rows = try store.messages(
                        in: number, range, newestFirst: newestFirst, budget: &budget, filter: .all, reader: user)
                    add("page", "\(rows.map(\.seq)) \(budget.messages) \(budget.bytes) \(budget.isFull)")
                }
            }
        }
    }
}
