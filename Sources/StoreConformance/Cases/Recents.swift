import ScrollbackEngine
import ScrollbackModel

extension StoreConformance {
    static let recents: [Case] = [
        Case("A user's summary of each conversation matches the rows of the conversation and the member") { store in
            var group = try store.makeConversation(.group("g"))
            group.head = 9
            group.countedIndex = 8
            group.firstSeq = 4
            group.floorCountedIndex = 2
            group.timetoken = Timetoken(rawValue: .max)
            group.recentSeq = 7
            group.recentTime = Timetoken(rawValue: 1 << 63)
            var quiet = try store.makeConversation(.direct(between: "alice", and: "bob"))
            quiet.timetoken = Timetoken(rawValue: 17)
            quiet.isDeleted = true
            var member = MemberRow(conversation: group.number, user: "alice", standing: .left, role: .owner)
            (member.joinSeq, member.joinCountedIndex, member.readSeq, member.readCountedIndex) = (2, 1, 5, 4)
            (member.clearSeq, member.clearCountedIndex, member.removedSeq) = (3, 3, 6)
            (member.mutesPushes, member.isMarkedUnread) = (true, true)
            (member.hasDeletedRanges, member.userRev) = (true, 12)
            var pinned = MemberRow(conversation: quiet.number, user: "alice", standing: .reader)
            pinned.isPinned = true
            try store.transaction { [group, quiet, member, pinned] store in
                for var row in [group, quiet] { try store.put(&row) }
                for row in [member, pinned] { try store.put(row) }
                try store.put(MemberRow(conversation: quiet.number, user: "bob", standing: .member))
            }
            try store.read { [group, quiet, member, pinned] store in
                try expectEqual(
                    try store.membershipSummaries(of: "alice", committedAfter: -1, changedAbove: -1),
                    [MembershipSummary(of: group, member), MembershipSummary(of: quiet, pinned)])
                try expectEqual(try store.membershipSummaries(of: "carol", committedAfter: -1, changedAbove: -1), [])
                let found = try store.membershipSummaries(of: "alice", committedAfter: -1, changedAbove: -1)[0]
                // The user revision is 12 in the first and 0 in the second, which has the higher commit.
                try expectEqual(
                    try store.membershipSummaries(of: "alice", committedAfter: .max, changedAbove: 11).map(\.number),
                    [group.number])
                try expectEqual(
                    try store.membershipSummaries(of: "alice", committedAfter: group.lastCommit, changedAbove: 12).map(
                        \.number),
                    [quiet.number])
                try expectEqual([found.unreadBase.countedIndex, found.unreadBase.position], [4, 5])
                try expectEqual(found.activeAt, Timetoken(rawValue: 1 << 63))
            }
        },
        Case("The candidates for recents contain all conversations that match the filter, and no channels") { store in
            func make(
                _ id: ConversationID, head: Seq, at time: UInt64,
                change: (inout ConversationRow, inout MemberRow) -> Void = { _, _ in }
            ) throws -> Int64 {
                var row = try store.makeConversation(id)
                row.head = head
                row.countedIndex = head
                row.timetoken = Timetoken(rawValue: time)
                var member = MemberRow(conversation: row.number, user: "alice", standing: .member)
                change(&row, &member)
                try store.transaction { [row, member] store in
                    var row = row
                    try store.put(&row)
                    try store.put(member)
                }
                return row.number
            }
            let plain = try make(.group("plain"), head: 3, at: 5)
            let muted = try make(.direct(between: "alice", and: "bob"), head: 3, at: 1 << 63) { row, member in
                (row.recentSeq, row.recentTime) = (2, Timetoken(rawValue: 1 << 63))
                (member.mutesPushes, member.isPinned, member.readSeq, member.readCountedIndex) = (true, true, 3, 3)
            }
            let left = try make(.group("left"), head: 1, at: 2) { $1.standing = .left }
            let marked = try make(.group("marked"), head: 2, at: 3) { _, member in
                (member.clearSeq, member.clearCountedIndex, member.isMarkedUnread) = (2, 2, true)
            }
            let community = try make(.community("city"), head: 0, at: 0)
            let channel = try make(.community("city", channel: "a"), head: 2, at: 8)
            try store.read { store in
                func check(_ filter: RecentsListFilter, _ expected: Int64...) throws {
                    let found = try store.recentsCandidates(of: "alice", filter).map(\.position.number)
                    try expect(Set(found).isSuperset(of: expected), "\(filter) has \(found), not \(expected)")
                    try expect(Set(found).count == found.count, "\(filter) has a conversation twice: \(found)")
                    try expect(!found.contains(channel), "\(filter) has a channel")
                }
                let rows = Dictionary(
                    uniqueKeysWithValues: try store.recentsCandidates(of: "alice", .init())
                        .map { ($0.position.number, $0) })
                try expectEqual(
                    rows[muted],
                    RecentsCandidate(
                        position: RecentsPosition(isPinned: true, time: Timetoken(rawValue: 1 << 63), number: muted),
                        isMember: true, isCommunityRoot: false))
                try expectEqual(rows[left]?.isMember, false)
                try expectEqual(rows[community]?.isCommunityRoot, true)
                try check(.init(), plain, muted, left, marked, community)
                try check(.init(kind: .group), plain, left, marked)
                try check(.init(kind: .community), community)
                try check(.init(kind: .direct, isMuted: true), muted)
                try check(.init(isMuted: true), muted, community)
                try check(.init(isUnread: true), plain, left, marked, community)
                try expectEqual(try store.recentsCandidates(of: "bob", .init()), [])
            }
        },
        Case("Count adjustments include mentions above the read position and uncounted indexes") { store in
            func make(_ name: String) throws -> Int64 {
                var row = try store.makeConversation(.group(Identifier(known: name)))
                (row.head, row.countedIndex) = (3000, 3000)
                var member = MemberRow(conversation: row.number, user: "alice", standing: .member)
                (member.readSeq, member.readCountedIndex) = (10, 10)
                try store.transaction { [row, member] store in
                    var row = row
                    try store.put(&row)
                    try store.put(member)
                }
                return row.number
            }
            let plain = try make("plain")
            let (mentioned, everyone) = (try make("mentioned"), try make("everyone"))
            let (recalled, own, others) = (try make("recalled"), try make("own"), try make("others"))
            let (deleted, all) = (try make("deleted"), try make("all"))
            try store.transaction { store in
                try store.insertMention(of: "alice", by: "bob", at: 11, in: mentioned)
                try store.insertMention(of: nil, by: "bob", at: 11, in: everyone)
                try store.insertMention(of: "bob", by: "carol", at: 11, in: plain)
                try store.insert(11...11, into: .removed, of: recalled)
                try store.insert(11...11, into: .uncounted("alice"), of: own)
                try store.insert(11...11, into: .uncounted("bob"), of: others)
                try store.insert(11...11, into: .deleted, of: deleted)
                try store.insertMention(of: "alice", by: "bob", at: 11, in: all)
                try store.insertMention(of: nil, by: "bob", at: 12, in: all)
                try store.insert(11...11, into: .removed, of: all)
                try store.insert(12...12, into: .uncounted("alice"), of: all)
                try store.insert(2999...2999, into: .uncounted("alice"), of: all)
            }
            try store.read { store in
                let adjustments = try store.unreadAdjustments(of: "alice")
                for number in [mentioned, everyone, all] {
                    try expectEqual(adjustments[number]?.mayBeMentioned, true)
                }
                func uncounted(_ number: Int64) -> Int64 {
                    adjustments[number]?.uncounted(among: 11...3000) ?? 0
                }
                try expectEqual([recalled, own, all].map(uncounted), [1, 1, 3])
                try expectEqual([plain, mentioned, everyone, others, deleted].map(uncounted), [0, 0, 0, 0, 0])
                try expectEqual(try store.unreadAdjustments(of: "bob"), [:])
            }
        },
        Case("Candidates and count adjustments agree with the engine's rules, for random rows") { store in
            var random = SplitMix64(seed: 7)
            let samples = (0..<300).map { number in
                let name = "c\(number)"
                let kinds: [ConversationID] = [
                    .group(Identifier(known: name)), .room(Identifier(known: name)),
                    .system(to: "alice", from: UserID(known: name)),
                ]
                return RecentsSample(random.pick(kinds), &random)
            }
            try store.transaction { store in
                for sample in samples { try sample.store(in: store) }
            }
            try store.read { store in
                let summaries = try store.membershipSummaries(of: "alice", committedAfter: -1, changedAbove: -1)
                try expectEqual(summaries.count, samples.count)
                let adjustments = try store.unreadAdjustments(of: "alice")
                for row in summaries {
                    let (base, number) = (row.unreadBase, row.number)
                    guard row.isMember, let numbers = base.countedIndexes(through: row.countedIndex) else { continue }
                    var all = UnreadAdjustment()
                    for set in [BitSet.removed, .uncounted("alice")] {
                        for block in try store.bits(set, of: number, blocks: 0...Int64.max) { all.add(block) }
                    }
                    try expectEqual(
                        adjustments[number]?.uncounted(among: numbers) ?? 0, all.uncounted(among: numbers),
                        "the uncounted indexes of \(row)")
                    let isMentioned = try !store.mentions(of: "alice", in: number, above: base.position).isEmpty
                    try expect(!isMentioned || adjustments[number]?.mayBeMentioned == true, "\(row) lacks its mention")
                }
                for kind in [nil, ConversationKind.group] {
                    for isMuted in [nil, true, false] {
                        for isUnread in [true, false] {
                            let filter = RecentsListFilter(kind: kind, isMuted: isMuted, isUnread: isUnread)
                            let found = Set(try store.recentsCandidates(of: "alice", filter).map(\.position.number))
                            let lacking = summaries.filter { filter.mayMatch($0) && !found.contains($0.number) }
                            try expect(lacking.isEmpty, "\(filter) lacks \(lacking)")
                        }
                    }
                }
            }
        },
        Case("The channels of a community are listed by name, with or without a row of the user") { store in
            let community = try store.makeConversation(.community("city"))
            let channels = try ["b", "a", "é"].map {
                try store.makeConversation(.community("city", channel: Identifier(known: $0)))
            }
            _ = try store.makeConversation(.community("city2", channel: "a"))
            let reader = MemberRow(conversation: channels[0].number, user: "alice", standing: .reader)
            try store.transaction { store in
                try store.put(reader)
                try store.put(MemberRow(conversation: channels[1].number, user: "bob", standing: .member))
                try store.put(MemberRow(conversation: community.number, user: "alice", standing: .member))
            }
            try store.read { store in
                try expectEqual(
                    try store.channelSummaries(of: "alice", in: community.number),
                    [
                        MembershipSummary(of: channels[1], nil), MembershipSummary(of: channels[0], reader),
                        MembershipSummary(of: channels[2], nil),
                    ])
                // A community is included regardless of its last commit.
                try expectEqual(
                    try store.membershipSummaries(of: "alice", committedAfter: .max, changedAbove: .max).map(\.number),
                    [community.number])
                try expectEqual(
                    try store.membershipSummaries(of: "alice", committedAfter: -1, changedAbove: -1).map(
                        \.isCommunityRoot),
                    [true, false])
                try expectEqual(try store.channelSummaries(of: "alice", in: .max), [])
            }
        },
    ]
}

/// A conversation of the user alice with random positions.
///
/// Sequence number `n` has the counted index `700 * n`, so that a few messages span several blocks.
private struct RecentsSample {
    var row: ConversationRow
    var member: MemberRow
    var mentions: [(user: UserID?, seq: Seq)] = []
    var uncounted: [(set: BitSet, countedIndex: Int64)] = []

    init(_ id: ConversationID, _ random: inout SplitMix64) {
        row = .sample(id)
        let head = Seq(random.below(6))
        func position(in range: ClosedRange<Seq>) -> Seq { Seq.random(in: range, using: &random) }
        (row.head, row.countedIndex) = (head, 700 * head)
        row.recentSeq = position(in: 0...head)
        row.firstSeq = position(in: 1...head + 1)
        row.floorCountedIndex = 700 * (row.firstSeq - 1)
        row.isDeleted = random.chance(10)
        member = MemberRow(conversation: 0, user: "alice", standing: random.chance(80) ? .member : .left)
        member.joinSeq = position(in: 0...head)
        member.readSeq = position(in: 0...head)
        member.clearSeq = position(in: 0...head)
        member.joinCountedIndex = 700 * member.joinSeq
        member.readCountedIndex = 700 * member.readSeq
        member.clearCountedIndex = 700 * member.clearSeq
        member.removedSeq = position(in: 0...head)
        member.mutesPushes = random.chance(30)
        member.isMarkedUnread = random.chance(10)
        guard head > 0 else { return }
        for _ in 0..<random.below(3) {
            mentions.append((random.pick([nil, "alice", "carol"]), position(in: 1...head)))
        }
        for _ in 0..<random.below(4) {
            let set = random.pick([BitSet.removed, .uncounted("alice"), .uncounted("carol")])
            uncounted.append((set, position(in: 1...row.countedIndex)))
        }
    }

    func store(in store: any StoreWriter) throws {
        var (row, member) = (row, member)
        try store.put(&row)
        member.conversation = row.number
        try store.put(member)
        for mention in mentions {
            try store.insertMention(of: mention.user, by: "bob", at: mention.seq, in: row.number)
        }
        for (set, number) in uncounted { try store.insert(number...number, into: set, of: row.number) }
    }
}
