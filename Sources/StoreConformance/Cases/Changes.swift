import ScrollbackEngine
import ScrollbackModel

extension StoreConformance {
    static let changes: [Case] = [
        Case("Erasing leaves the row, and members as ones who left") { store in
            let erased = try store.make(.group("a"), messages: 5)
            let kept = try store.make(.group("b"), messages: 5)
            for row in [erased, kept] {
                try store.change { store in
                    var owner = MemberRow(conversation: row.number, user: "alice", standing: .member, role: .owner)
                    owner.readSeq = 3
                    owner.readN = 3
                    owner.joinSeq = 1
                    owner.joinN = 1
                    owner.clearSeq = 2
                    owner.clearN = 2
                    owner.isMuted = true
                    owner.isPinned = true
                    owner.isMarkedUnread = true
                    owner.view = 2
                    owner.userRev = 4
                    try store.put(owner)
                    try store.put(MemberRow(conversation: row.number, user: "bob", standing: .reader))
                    try store.put(MemberRow(conversation: row.number, user: "carol", standing: .left))
                    try store.put(SpanRow(joined: 1), of: "alice", in: row.number)
                    try store.put(
                        HiddenRow(lowerSeq: 4, upperSeq: 4, lowerN: 3, upperN: 4, below: 0), of: "alice", in: row.number
                    )
                    try store.insertMention(of: "alice", by: "bob", at: 5, in: row.number)
                    try store.insertMention(of: nil, by: "bob", at: 4, in: row.number)
                }
            }
            let before = try store.read { try Everything(of: kept, in: $0) }
            try store.change { try $0.erase(erased.number) }
            try expectEqual(try store.read { try Everything(of: kept, in: $0) }, before)
            try store.read { store in
                let after = try Everything(of: erased, in: store)
                try expectEqual(after.row, erased)
                try expectEqual(after.log, [])
                try expectEqual(after.mentions, [])
                try expectEqual(after.spans, [])
                try expectEqual(after.runs, [])
                try expectEqual(after.members, [])
                try expect(try store.message(MessageID(1), in: erased.number) == nil, "a message is left")
                for user: UserID in ["alice", "carol"] {
                    try expectEqual(
                        try store.member(user, of: erased.number),
                        MemberRow(conversation: erased.number, user: user, standing: .left))
                }
                try expect(try store.member("bob", of: erased.number) == nil, "who only read is left")
                try expectEqual(try store.memberships(of: "bob").map(\.conversation), [kept.number])
            }
        },
        Case("An erased log begins anew, and its ids are free again") { store in
            let row = try store.make(.group("a"), messages: 5)
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
        Case("Erasing what is not there does nothing") { store in
            let row = try store.make(.group("a"), messages: 2)
            try store.change { try $0.erase(row.number + 1) }
            try expectEqual(try store.read { try $0.log(of: row.number).count }, 2)
        },
        Case("Questions in a transaction see what it has changed") { store in
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
                let run = HiddenRow(lowerSeq: 1, upperSeq: 1, lowerN: 0, upperN: 1, below: 0)
                try store.put(run, of: "alice", in: row.number)
                try expectEqual(try store.lastHidden(of: "alice", in: row.number), run)
                try store.dropHidden(of: "alice", in: row.number, throughN: 1)
                try expectEqual(try store.runs(of: "alice", in: row.number), [])
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

/// All that a store holds of one conversation.
struct Everything: Equatable {
    var row: ConversationRow?
    var log: [MessageRow]
    var members: [MemberRow]
    var own: MemberRow?
    var spans: [SpanRow]
    var runs: [HiddenRow]
    var mentions: [Seq]

    init(of conversation: ConversationRow, in store: any StoreReader) throws {
        row = try store.conversation(conversation.id)
        log = try store.log(of: conversation.number)
        members = try store.members(of: conversation.number, after: nil, limit: .max)
        own = try store.member("alice", of: conversation.number)
        spans = try store.spans(of: "alice", in: conversation.number)
        runs = try store.runs(of: "alice", in: conversation.number)
        mentions = try store.mentions(of: "alice", in: conversation.number, above: 0)
    }
}
