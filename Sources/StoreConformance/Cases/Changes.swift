import Foundation
import ScrollbackEngine
import ScrollbackModel

extension StoreConformance {
    static let changes: [Case] = [
        Case("A message ID is found in every conversation that has it") { store in
            let rows = try [ConversationID.group("a"), .group("b"), .room("c")].map {
                try store.makeConversation($0, messages: $0 == .group("b") ? 1 : 2)
            }
            func found(_ number: Int, limit: Int = 9) throws -> [Int64] {
                try store.read { try $0.conversations(withMessage: MessageID(number), limit: limit) }
            }
            try expectEqual(try found(1), rows.map(\.number))
            try expectEqual(try found(1, limit: 2), rows.prefix(2).map(\.number))
            try expectEqual(try found(2), [rows[0].number, rows[2].number])
            try expectEqual(try found(3), [])
        },
        Case("The replies of a thread are counted up to a time, without tombstones") { store in
            let number = try store.makeConversation(.group("a"), messages: 1).number
            let thread = MessageID(1)
            try store.transaction { store in
                for seq in 2...6 as ClosedRange<Seq> {
                    var row = MessageRow.sample(seq)
                    row.thread = seq == 3 ? MessageID(99) : thread
                    if seq == 5 { row.content = nil }
                    try store.insert(row, in: number)
                }
            }
            func replies(until seq: Seq) throws -> ReplySummary? {
                let time = MessageRow.sample(seq).timetoken
                return try store.read { try $0.replies(in: thread, of: number, until: time) }
            }
            func summary(_ count: Int64, _ seq: Seq) -> ReplySummary {
                ReplySummary(count: count, lastReplyAt: MessageRow.sample(seq).timetoken)
            }
            try expectEqual(try replies(until: 1), nil)
            try expectEqual(try replies(until: 2), summary(1, 2))
            try expectEqual(try replies(until: 5), summary(2, 4))
            try expectEqual(try replies(until: 6), summary(3, 6))
            let end = MessageRow.sample(6).timetoken
            try expectEqual(try store.read { try $0.replies(in: thread, of: number + 1, until: end) }, nil)
        },
        Case("Erasing a conversation keeps its row, and its members become former members") { store in
            let erased = try store.makeConversation(.group("a"), messages: 5)
            let kept = try store.makeConversation(.group("b"), messages: 5)
            for row in [erased, kept] {
                try store.transaction { store in
                    var owner = MemberRow(conversation: row.number, user: "alice", standing: .member, role: .owner)
                    owner.readSeq = 3
                    owner.readCountedIndex = 3
                    owner.joinSeq = 1
                    owner.joinCountedIndex = 1
                    owner.clearSeq = 2
                    owner.clearCountedIndex = 2
                    owner.mutesPushes = true
                    owner.isPinned = true
                    owner.isMarkedUnread = true
                    owner.markedRev = 4
                    owner.removedSeq = 3
                    owner.newDeviceFloor = 3
                    owner.view = 2
                    owner.userRev = 4
                    try store.put(owner)
                    try store.put(MemberRow(conversation: row.number, user: "bob", standing: .reader))
                    try store.put(MemberRow(conversation: row.number, user: "carol", standing: .left))
                    try store.put(SpanRow(joined: 1), of: "alice", in: row.number)
                    owner.hasDeletedRanges = true
                    try store.put(owner)
                    try store.insert(4...4, into: .uncounted("alice"), of: row.number)
                    try store.insert(2...3, into: .removed, of: row.number)
                    try store.insert(2...2, into: .deleted, of: row.number)
                    try store.put(DeletedRangeRow(3...3), of: nil, in: row.number)
                    try store.put(DeletedRangeRow(4...4, userRev: 3), of: "alice", in: row.number)
                    try store.insert(
                        ChangeRow(rev: 1, kind: .message, places: 2...2, at: row.timetoken, operation: MessageID(77)),
                        in: row.number)
                    try store.insert(KeyRow(.sample(1, id: MessageID(88))), in: row.number)
                    try store.insert(.sample(2, value: "a"), in: row.number)
                    try store.insertMention(of: "alice", by: "bob", at: 5, in: row.number)
                    try store.insertMention(of: nil, by: "bob", at: 4, in: row.number)
                }
            }
            let before = try store.read { try ConversationSnapshot(of: kept, in: $0) }
            try store.transaction { try $0.erase(erased.number) }
            try expectEqual(try store.read { try ConversationSnapshot(of: kept, in: $0) }, before)
            try store.read { store in
                let after = try ConversationSnapshot(of: erased, in: store)
                try expectEqual(after.row, erased)
                try expectEqual(after.log, [])
                try expectEqual(after.mentions, [])
                try expectEqual(after.spans, [])
                try expectEqual(after.numbers, [[], [], []])
                try expectEqual(after.deletedRanges, [[], []])
                try expectEqual(after.changes, [])
                try expectEqual(after.actions, [])
                try expect(try store.key(MessageID(88), in: erased.number) == nil, "an ID remains")
                try expectEqual(after.members, [])
                try expect(try store.message(MessageID(1), in: erased.number) == nil, "a message remains")
                for user: UserID in ["alice", "carol"] {
                    try expectEqual(
                        try store.member(user, of: erased.number),
                        MemberRow(conversation: erased.number, user: user, standing: .left))
                }
                try expect(try store.member("bob", of: erased.number) == nil, "the row of a reader remains")
                try expectEqual(try store.memberships(of: "bob").map(\.conversation), [kept.number])
            }
        },
        Case("Dropping a mention keeps those of other users and at other positions") { store in
            let row = try store.makeConversation(.group("a"), messages: 5)
            try store.transaction { store in
                for seq: Seq in 4...5 {
                    try store.insertMention(of: "alice", by: "bob", at: seq, in: row.number)
                    try store.insertMention(of: "carol", by: "bob", at: seq, in: row.number)
                }
                try store.insertMention(of: nil, by: "bob", at: 3, in: row.number)
            }
            try store.transaction { store in
                try store.dropMention(of: "alice", at: 4, in: row.number)
                try store.dropMention(of: nil, at: 3, in: row.number)
            }
            try store.read { store in
                try expectEqual(try store.mentions(of: "alice", in: row.number, above: 0), [5])
                try expectEqual(try store.mentions(of: "carol", in: row.number, above: 0), [4, 5])
            }
        },
        Case("A log can start again after erasure, and its IDs can be reused") { store in
            let row = try store.makeConversation(.group("a"), messages: 5)
            try store.write { store, commit in
                var row = row
                try store.erase(row.number)
                row.salt = 99
                try store.append([.sample(1, sender: "bob"), .sample(2, sender: "bob")], to: &row, commit)
            }
            try expectEqual(
                try store.read { try $0.log(of: row.number) },
                [.sample(1, sender: "bob"), .sample(2, sender: "bob")])
        },
        Case("Erasing a nonexistent conversation does nothing") { store in
            let row = try store.makeConversation(.group("a"), messages: 2)
            try store.transaction { try $0.erase(row.number + 1) }
            try expectEqual(try store.read { try $0.log(of: row.number).count }, 2)
        },
        Case("Updating a message replaces its mutable fields and keeps the others") { store in
            let row = try store.makeConversation(.group("a"), messages: 3)
            var changed = MessageRow.sample(2)
            changed.content = RawJSON(known: #"{"text":"other"}"#)
            changed.rev = 4
            changed.editedAt = Date(timeIntervalSince1970: 1_700_000_001.5)
            changed.attributes = MessageAttributes(
                mentions: .users(["bob"]), metadata: RawJSON(known: #"{"a":1}"#), customType: "x",
                traits: MessageTraits(countsUnread: false))
            changed.thread = MessageID(1)
            changed.replies = ReplySummary(count: 3, lastReplyAt: Timetoken(rawValue: .max))
            changed.actions = [
                ActionSummary(type: "reaction", value: "👍🏽", count: 2, senders: ["alice", "غرفة"]),
                ActionSummary(type: "", value: "", count: 1, senders: []),
            ]
            try store.transaction { [changed] in try $0.update(changed, in: row.number) }
            try expectEqual(try store.read { try $0.log(of: row.number) }, [.sample(1), changed, .sample(3)])
            try expectEqual(try store.read { try $0.message(MessageID(2), in: row.number) }, Optional(changed))
            var tombstone = changed
            tombstone.content = nil
            tombstone.attributes = .init()
            tombstone.thread = nil
            tombstone.replies = nil
            tombstone.actions = []
            tombstone.editedAt = nil
            try store.transaction { [tombstone] in try $0.update(tombstone, in: row.number) }
            try expectEqual(try store.read { try $0.message(at: 2, in: row.number) }, Optional(tombstone))
            try expectError("updating a nonexistent message") {
                try store.transaction { try $0.update(.sample(9), in: row.number) }
            }
        },
        Case("Removing messages removes their actions and leaves their sequence numbers unused") { store in
            let row = try store.makeConversation(.group("a"), messages: 9)
            let other = try store.makeConversation(.group("b"), messages: 9)
            try store.transaction { store in
                for number in [row.number, other.number] {
                    for seq: Seq in [2, 5] { try store.insert(.sample(seq, value: "a"), in: number) }
                }
                try store.removeMessages(3...6, in: row.number)
            }
            try store.read { store in
                try expectEqual(try store.log(of: row.number).map(\.seq), [1, 2, 7, 8, 9])
                try expectEqual(try store.log(of: other.number).count, 9)
                try expectEqual(try store.position(atOrBelow: 6, in: row.number)?.seq, 2)
                try expectEqual(
                    try store.position(atOrBelow: 99, in: row.number),
                    PositionRow(seq: 9, countedIndex: 9, timetoken: MessageRow.sample(9).timetoken))
                try expect(try store.position(atOrBelow: 0, in: row.number) == nil, "a position below the first exists")
                try expect(try store.message(MessageID(5), in: row.number) == nil, "a removed message's ID is found")
                try expectEqual(try store.actions(at: nil, in: row.number, after: nil, limit: 9).map(\.seq), [2])
                try expectEqual(try store.actions(at: nil, in: other.number, after: nil, limit: 9).map(\.seq), [2, 5])
            }
        },
        Case("Changes are read from a revision and found by the operation ID") { store in
            let row = try store.makeConversation(.group("a"))
            let all = (1...9).map { number in
                ChangeRow(
                    rev: number, kind: number % 2 == 0 ? .message : .removal, places: number...(number * 3),
                    at: Timetoken(rawValue: .max - UInt64(number)),
                    operation: number > 6 ? MessageID(Int(number)) : nil,
                    digest: -number, answer: number * 7)
            }
            try store.transaction { store in
                for change in all { try store.insert(change, in: row.number) }
                try store.insert(all[8], in: row.number + 1)
            }
            try store.read { store in
                try expectEqual(try store.changes(in: row.number, after: 0, limit: .max), all)
                try expectEqual(try store.changes(in: row.number, after: 3, limit: 2), Array(all[3...4]))
                try expectEqual(try store.changes(in: row.number, after: 9, limit: 2), [])
                try expectEqual(try store.change(MessageID(7), in: row.number), all[6])
                try expect(try store.change(MessageID(7), in: row.number + 1) == nil, "another log's change is found")
                try expect(try store.change(MessageID(1), in: row.number) == nil, "a missing operation is found")
            }
            try store.transaction { try $0.dropChanges(in: row.number, through: 7) }
            try store.read { store in
                try expectEqual(try store.changes(in: row.number, after: 0, limit: .max), Array(all[7...]))
                try expect(try store.change(MessageID(7), in: row.number) == nil, "a dropped operation is found")
            }
        },
        Case("Pinned messages are found by position, newest first") { store in
            let row = try store.makeConversation(.group("a"), messages: 5)
            let other = try store.makeConversation(.group("b"), messages: 5)
            func action(_ seq: Seq, _ type: String) -> ActionRow {
                ActionRow(
                    seq: seq, timetoken: Timetoken(rawValue: UInt64(10 * seq) + (type == MessageAction.pin ? 1 : 0)),
                    sender: "alice", type: type, value: MessageAction.pin)
            }
            try store.transaction { store in
                for seq: Seq in [4, 1, 3] { try store.insert(action(seq, MessageAction.pin), in: row.number) }
                for seq: Seq in [1, 2] { try store.insert(action(seq, MessageAction.reaction), in: row.number) }
                try store.insert(action(5, MessageAction.pin), in: other.number)
            }
            try store.read { store in
                try expectEqual(try store.pins(in: row.number, below: nil, limit: .max), [4, 3, 1])
                try expectEqual(try store.pins(in: row.number, below: nil, limit: 2), [4, 3])
                try expectEqual(try store.pins(in: row.number, below: 3, limit: .max), [1])
                try expectEqual(try store.pins(in: row.number, below: 1, limit: .max), [])
            }
            try store.transaction { try $0.removeAction(at: action(3, MessageAction.pin).timetoken, in: row.number) }
            try expectEqual(try store.read { try $0.pins(in: row.number, below: nil, limit: .max) }, [4, 1])
        },
        Case("Actions are found by message, by sender and by timetoken, with the bytes of their values") { store in
            let row = try store.makeConversation(.group("a"), messages: 3)
            let all = UnusualNames.all.enumerated().map { offset, value in
                ActionRow(
                    seq: Seq(1 + offset % 2), timetoken: Timetoken(rawValue: UInt64(offset) + 1),
                    sender: offset % 3 == 0 ? "bob" : "alice", type: "reaction", value: value)
            }
            try store.transaction { store in for action in all { try store.insert(action, in: row.number) } }
            try store.read { store in
                try expectEqual(try store.actions(at: nil, in: row.number, after: nil, limit: .max), all)
                try expectEqual(
                    try store.actions(at: 1, in: row.number, after: nil, limit: .max), all.filter { $0.seq == 1 })
                try expectEqual(
                    try store.actions(at: 2, in: row.number, after: Timetoken(rawValue: 4), limit: 2),
                    Array(all.filter { $0.seq == 2 && $0.timetoken.rawValue > 4 }.prefix(2)))
                for action in all {
                    let own = try store.actions(at: action.seq, by: action.sender, in: row.number)
                    try expectEqual(
                        own.sorted { $0.timetoken < $1.timetoken },
                        all.filter { ($0.seq, $0.sender) == (action.seq, action.sender) })
                    let hasBytes = own.contains { $0.value.utf8.elementsEqual(action.value.utf8) }
                    try expect(hasBytes, "the value has its bytes")
                    try expectEqual(try store.action(at: action.timetoken, in: row.number), action)
                }
                try expectEqual(try store.lastAction(in: row.number), all.last?.timetoken)
            }
            try store.transaction { store in
                try store.removeAction(at: all[0].timetoken, in: row.number)
                try store.removeActions(at: 2, in: row.number)
            }
            try expectEqual(
                try store.read { try $0.actions(at: nil, in: row.number, after: nil, limit: .max) },
                all.dropFirst().filter { $0.seq == 1 })
        },
        Case("Message IDs outlive their messages until they expire") { store in
            let row = try store.makeConversation(.group("a"))
            let keys = (1...9).map { KeyRow(.sample(Seq($0))) }
            try store.transaction { store in
                for key in keys { try store.insert(key, in: row.number) }
                try store.insert(keys[0], in: row.number)
            }
            for key in keys { try expectEqual(try store.read { try $0.key(key.id, in: row.number) }, Optional(key)) }
            try expect(try store.read { try $0.key(MessageID(1), in: row.number + 1) } == nil, "another log's ID found")
            let dropped = try store.write { store, _ in
                (
                    try store.dropKeys(before: keys[5].timetoken, limit: 3),
                    try store.dropKeys(before: keys[5].timetoken, limit: 3)
                )
            }
            try expectEqual(dropped.0, 3)
            try expectEqual(dropped.1, 2)
            let left = try store.read { store in try keys.filter { try store.key($0.id, in: row.number) != nil } }
            try expectEqual(left, Array(keys[5...]))
        },
        Case("Settings have the values that were stored last") { store in
            try store.transaction { try $0.put(settings: RawJSON(known: #"{"a":1}"#)) }
            try store.transaction { try $0.put(settings: RawJSON(known: #"{"b": "é"}"#)) }
            try expectEqual(try store.read { try $0.settings() }, Optional(RawJSON(known: #"{"b": "é"}"#)))
        },
        Case("Conversations are listed by number, including deleted ones") { store in
            let rows = try (1...5).map { try store.makeConversation(.group(Identifier(known: "g\($0)"))) }
            try store.transaction { store in
                var deleted = rows[2]
                deleted.isDeleted = true
                try store.put(&deleted)
            }
            let numbers = rows.map(\.number)
            try store.read { store in
                try expectEqual(try store.conversations(after: 0, limit: 2).map(\.number), Array(numbers[..<2]))
                try expectEqual(
                    try store.conversations(after: numbers[1], limit: 9).map(\.number), Array(numbers[2...]))
            }
        },
        Case("Conversations that changed after a commit are listed by number, including deleted ones") { store in
            let rows = try (1...5).map { try store.makeConversation(.group(Identifier(known: "g\($0)"))) }
            let numbers = rows.map(\.number)
            try store.transaction { store in
                for (index, var row) in rows.enumerated() {
                    row.lastCommit = [7, 9, 8, 7, 9][index]
                    row.isDeleted = index == 1
                    try store.put(&row)
                }
            }
            try store.read { store in
                func found(after number: Int64 = 0, committedAfter commit: Int64, limit: Int = 9) throws -> [Int64] {
                    try store.conversationNumbers(after: number, committedAfter: commit, limit: limit)
                }
                try expectEqual(try found(committedAfter: 0), numbers)
                try expectEqual(try found(committedAfter: 7), [numbers[1], numbers[2], numbers[4]])
                try expectEqual(try found(committedAfter: 7, limit: 2), [numbers[1], numbers[2]])
                try expectEqual(try found(after: numbers[1], committedAfter: 7), [numbers[2], numbers[4]])
                try expectEqual(try found(committedAfter: 9), [])
                try expectEqual(try found(committedAfter: 0, limit: 0), [])
            }
        },
        Case("Queries in a transaction see its changes") { store in
            try store.write { store, commit in
                var row = ConversationRow.sample(.community("city", channel: "a"))
                try store.put(&row)
                try expectEqual(try store.conversation(row.id), row)
                try expectEqual(try store.channels(of: "city", after: nil, limit: 5), [row])
                try store.append([.sample(1), .sample(2)], to: &row, commit)
                try expectEqual(try store.conversation(numbered: row.number)?.head, 2)
                try expectEqual(try store.log(of: row.number).count, 2)
                try expectEqual(try store.message(MessageID(2), in: row.number), .sample(2))
                try expectEqual(try store.message(atOrBelow: 9, in: row.number)?.seq, 2)
                var member = MemberRow(conversation: row.number, user: "alice", standing: .member)
                try store.put(member)
                try expectEqual(try store.members(of: row.number, after: nil, limit: 5), [member])
                member.readSeq = 1
                try store.put(member)
                try expectEqual(try store.member("alice", of: row.number), member)
                try expectEqual(try store.memberships(of: "alice"), [member])
                try store.put(SpanRow(joined: 1), of: "alice", in: row.number)
                try expectEqual(try store.spans(of: "alice", in: row.number), [SpanRow(joined: 1)])
                try store.insert(1...1, into: .uncounted("alice"), of: row.number)
                try expectEqual(try store.numbers(.uncounted("alice"), of: row.number), [1])
                try store.dropBits(.uncounted("alice"), of: row.number, below: 1)
                try expectEqual(try store.numbers(.uncounted("alice"), of: row.number), [])
                try store.insertMention(of: nil, by: "bob", at: 2, in: row.number)
                try expectEqual(try store.mentions(of: "alice", in: row.number, above: 0), [2])
                try store.put(UserRow(profile: UserProfile(id: "alice"), rev: 1))
                try expectEqual(try store.user("alice")?.rev, 1)
                try store.erase(row.number)
                try expectEqual(try store.log(of: row.number), [])
            }
        },
    ]
}

/// All data that a store has of one conversation.
struct ConversationSnapshot: Equatable {
    var row: ConversationRow?
    var log: [MessageRow]
    var members: [MemberRow]
    var own: MemberRow?
    var spans: [SpanRow]
    var numbers: [[Int64]]
    var deletedRanges: [[DeletedRangeRow]]
    var changes: [ChangeRow]
    var actions: [ActionRow]
    var key: KeyRow?
    var settings: RawJSON?
    var mentions: [Seq]

    init(of conversation: ConversationRow, in store: any StoreReader) throws {
        row = try store.conversation(conversation.id)
        log = try store.log(of: conversation.number)
        members = try store.members(of: conversation.number, after: nil, limit: .max)
        own = try store.member("alice", of: conversation.number)
        spans = try store.spans(of: "alice", in: conversation.number)
        numbers = try [BitSet.removed, .deleted, .uncounted("alice")].map {
            try store.numbers($0, of: conversation.number)
        }
        deletedRanges = [
            try store.deletedRanges(of: nil, in: conversation.number),
            try store.deletedRanges(of: "alice", in: conversation.number),
        ]
        changes = try store.changes(in: conversation.number, after: 0, limit: .max)
        actions = try store.actions(at: nil, in: conversation.number, after: nil, limit: .max)
        key = try store.key(MessageID(1), in: conversation.number)
        settings = try store.settings()
        mentions = try store.mentions(of: "alice", in: conversation.number, above: 0)
    }
}
