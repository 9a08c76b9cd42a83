import Foundation
import ScrollbackEngine
import ScrollbackModel

extension StoreConformance {
    static let people: [Case] = [
        Case("A user keeps the values of all fields and is replaced as a whole") { store in
            var row = UserRow(
                profile: UserProfile(
                    id: "عَلي 🙂", name: "", avatar: "x", metadata: RawJSON(known: "{\"a\" :\t1}")), rev: .max,
                revokedAt: Date(timeIntervalSinceReferenceDate: 0.1 + 0.2))
            try store.transaction { [row] in try $0.put(row) }
            try store.read { [row] in try expectEqual(try $0.user("عَلي 🙂"), row) }
            row = UserRow(profile: UserProfile(id: "عَلي 🙂"), rev: 3)
            try store.transaction { [row] in try $0.put(row) }
            try store.read { [row] in try expectEqual(try $0.user("عَلي 🙂"), row) }
            try expect(try store.read { try $0.user("عَلي") } == nil, "half a user ID finds the user")
        },
        Case("Users are distinguished by the bytes of their IDs") { store in
            try store.transaction { store in
                for (index, name) in UnusualNames.all.enumerated() {
                    try store.put(UserRow(profile: UserProfile(id: UserID(known: name)), rev: Int64(index)))
                }
            }
            try store.read { store in
                for (index, name) in UnusualNames.all.enumerated() {
                    try expectEqual(try store.user(UserID(known: name))?.rev, Int64(index), "the rev of \(name)")
                }
            }
        },
        Case("A member keeps the values of all fields and is replaced as a whole") { store in
            let conversation = try store.makeConversation(.group("a")).number
            var row = MemberRow(conversation: conversation, user: "alice", standing: .left, role: .owner)
            row.joinSeq = 1
            row.joinCountedIndex = 2
            row.readSeq = 3
            row.readCountedIndex = 4
            row.clearSeq = 5
            row.clearCountedIndex = 6
            row.isMuted = true
            row.level = .mentions
            row.isPinned = true
            row.isMarkedUnread = true
            row.markedRev = 8
            row.removedSeq = 9
            row.newDeviceFloor = 10
            row.view = 7
            row.userRev = .max
            try store.transaction { [row] in try $0.put(row) }
            try store.read { [row] store in
                try expectEqual(try store.member("alice", of: conversation), row)
                try expect(try store.member("alice", of: conversation + 1) == nil, "a member of another log is found")
                try expect(try store.member("Alice", of: conversation) == nil, "a member with another ID is found")
            }
            for role in Role.allCases {
                row = MemberRow(conversation: conversation, user: "alice", standing: .member, role: role)
                try store.transaction { [row] in try $0.put(row) }
                try store.read { [row] in try expectEqual(try $0.member("alice", of: conversation), row) }
            }
        },
        Case("Members are listed by ID in pages, without former members and readers") { store in
            let conversation = try store.makeConversation(.group("a")).number
            let other = try store.makeConversation(.group("b")).number
            let names = UnusualNames.all.map { UserID(known: $0) }.sorted()
            try store.transaction { store in
                for name in names.reversed() {
                    try store.put(MemberRow(conversation: conversation, user: name, standing: .member))
                }
                try store.put(MemberRow(conversation: conversation, user: "a1", standing: .left))
                try store.put(MemberRow(conversation: conversation, user: "a2", standing: .reader))
                try store.put(MemberRow(conversation: other, user: "a3", standing: .member))
            }
            try store.read { store in
                try expectEqual(try store.members(of: conversation, after: nil, limit: 1000).map(\.user), names)
                try expectEqual(try store.members(of: conversation, after: nil, limit: 0), [])
                try expectEqual(try store.members(of: conversation, after: names.last, limit: 10), [])
                try expectEqual(
                    try store.members(of: conversation, after: "a1", limit: 1000).map(\.user),
                    names.filter { $0 > "a1" })
                var listed: [UserID] = []
                while case let page = try store.members(of: conversation, after: listed.last, limit: 4), !page.isEmpty {
                    listed += page.map(\.user)
                }
                try expectEqual(listed, names)
            }
        },
        Case("The memberships of a user include all conversations with a row of the user") { store in
            let rows = try ["a", "b", "c", "d"].map { name in
                try store.makeConversation(.group(Identifier(known: name)))
            }
            let mine = [
                MemberRow(conversation: rows[0].number, user: "alice", standing: .member),
                MemberRow(conversation: rows[1].number, user: "alice", standing: .left),
                MemberRow(conversation: rows[2].number, user: "alice", standing: .reader),
            ]
            try store.transaction { store in
                for row in mine { try store.put(row) }
                try store.put(MemberRow(conversation: rows[3].number, user: "alic", standing: .member))
                try store.put(MemberRow(conversation: rows[3].number, user: "alice2", standing: .member))
            }
            try store.read { store in
                try expectEqual(Set(try store.memberships(of: "alice")), Set(mine))
                try expectEqual(try store.memberships(of: "alice").count, 3)
                try expectEqual(try store.memberships(of: "bob"), [])
            }
        },
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
            (member.isMuted, member.isMarkedUnread, member.hasDeletedRanges, member.userRev) = (true, true, true, 12)
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
                try expectEqual(
                    [found.baseCountedIndex, found.readPosition, Int64(bitPattern: found.activeAt.rawValue)],
                    [4, 5, .min])
            }
        },
        Case("Recents are filtered by kind, muted state and unread state, without removed conversations") { store in
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
                (member.isMuted, member.isPinned, member.readSeq, member.readCountedIndex) = (true, true, 3, 3)
            }
            let left = try make(.group("left"), head: 1, at: 2) { $1.standing = .left }
            let marked = try make(.group("marked"), head: 2, at: 3) { _, member in
                (member.clearSeq, member.clearCountedIndex, member.isMarkedUnread) = (2, 2, true)
            }
            let community = try make(.community("city"), head: 0, at: 0)
            _ = try make(.community("city", channel: "a"), head: 2, at: 8)
            _ = try make(.group("out"), head: 4, at: 9) {
                $0.recentSeq = 2; $1.removedSeq = 2
            }
            _ = try make(.group("empty"), head: 0, at: 0)
            _ = try make(.room("r"), head: 4, at: 9)
            _ = try make(.group("gone"), head: 4, at: 9) { row, _ in row.isDeleted = true }
            try store.read { store in
                func listed(_ filter: RecentsListFilter) throws -> Set<Int64> {
                    Set(try store.listed(of: "alice", filter).map(\.place.number))
                }
                let rows = Dictionary(
                    uniqueKeysWithValues: try store.listed(of: "alice", .init()).map { ($0.place.number, $0) })
                try expectEqual(Set(rows.keys), [plain, muted, left, marked, community])
                try expectEqual(
                    rows[muted],
                    ListedRow(
                        place: RecentsPosition(isPinned: true, time: Timetoken(rawValue: 1 << 63), number: muted),
                        isMember: true, isCommunityRoot: false))
                try expectEqual(rows[left]?.isMember, false)
                try expectEqual(rows[community]?.isCommunityRoot, true)
                try expectEqual(try listed(.init(kind: .group)), [plain, left, marked])
                try expectEqual(try listed(.init(kind: .community)), [community])
                try expectEqual(try listed(.init(kind: .direct, isMuted: false)), [])
                try expectEqual(try listed(.init(isMuted: true)), [muted, community])
                try expectEqual(try listed(.init(isUnread: true)), [plain, left, marked, community])
                try expectEqual(try store.listed(of: "bob", .init()), [])
            }
        },
        Case("Count adjustments include mentions above the read position and uncounted indexes") { store in
            func make(_ name: String, joinCountedIndex: Int64 = 0) throws -> Int64 {
                var row = try store.makeConversation(.group(Identifier(known: name)))
                (row.head, row.countedIndex) = (3000, 3000)
                var member = MemberRow(conversation: row.number, user: "alice", standing: .member)
                (member.joinSeq, member.joinCountedIndex, member.readSeq, member.readCountedIndex) = (
                    joinCountedIndex, joinCountedIndex, 10, 10
                )
                try store.transaction { [row, member] store in
                    var row = row
                    try store.put(&row)
                    try store.put(member)
                }
                return row.number
            }
            let plain = try make("plain")
            let (mentioned, everyone, before) = (try make("mentioned"), try make("everyone"), try make("before"))
            let (recalled, own, others) = (try make("recalled"), try make("own"), try make("others"))
            let (joined, deleted, read) = (
                try make("joined", joinCountedIndex: 2500), try make("deleted"), try make("read")
            )
            let all = try make("all")
            try store.transaction { store in
                try store.insertMention(of: "alice", by: "bob", at: 11, in: mentioned)
                try store.insertMention(of: nil, by: "bob", at: 11, in: everyone)
                try store.insertMention(of: "alice", by: "bob", at: 10, in: before)
                try store.insertMention(of: "bob", by: "carol", at: 11, in: plain)
                try store.insert(11...11, into: .removed, of: recalled)
                try store.insert(11...11, into: .uncounted("alice"), of: own)
                try store.insert(11...11, into: .uncounted("bob"), of: others)
                try store.insert(11...11, into: .removed, of: joined)
                try store.insert(11...11, into: .deleted, of: deleted)
                try store.insert(11...11, into: .removed, of: read)
                try store.insertMention(of: "alice", by: "bob", at: 11, in: all)
                try store.insertMention(of: nil, by: "bob", at: 12, in: all)
                try store.insert(11...11, into: .removed, of: all)
                try store.insert(12...12, into: .uncounted("alice"), of: all)
                try store.insert(2999...2999, into: .uncounted("alice"), of: all)
                var member = MemberRow(conversation: read, user: "alice", standing: .member)
                (member.readSeq, member.readCountedIndex) = (3000, 3000)
                try store.put(member)
            }
            try store.read { store in
                func count(isMentioned: Bool = false, _ numbers: ClosedRange<Int64>...) -> UnreadAdjustment {
                    var count = UnreadAdjustment(isMentioned: isMentioned)
                    for range in numbers {
                        var block = BitBlock(index: BitBlock.index(of: range.lowerBound))
                        block.insert(range)
                        count.add(block)
                    }
                    return count
                }
                try expectEqual(
                    try store.unreadAdjustments(of: "alice"),
                    [
                        mentioned: count(isMentioned: true), everyone: count(isMentioned: true),
                        recalled: count(11...11), own: count(11...11),
                        all: count(isMentioned: true, 11...12, 2999...2999),
                    ])
                try expectEqual(try store.unreadAdjustments(of: "bob"), [:])
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
                    try store.channelSummaries(of: "alice", in: "city"),
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
                try expectEqual(try store.channelSummaries(of: "alice", in: "village"), [])
            }
        },
    ]
}
