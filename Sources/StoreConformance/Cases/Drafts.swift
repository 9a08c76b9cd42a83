import ScrollbackEngine
import ScrollbackModel

extension StoreConformance {
    static let drafts: [Case] = [
        Case(
            "A user's drafts are replaced, listed by revision, counted without deleted ones, and deleted with the user"
        ) { store in
            func row(_ id: ConversationID, _ text: String?, _ rev: Int64) -> DraftRow {
                DraftRow(conversation: id, body: text.map { RawJSON(known: #"{"text":"\#($0)"}"#) }, rev: rev)
            }
            let (direct, group, room) = (
                ConversationID.direct("bob"), ConversationID.group("ä"), ConversationID.room("r")
            )
            try store.transaction { store in
                try store.put(row(group, "one", 3), of: "alice")
                try store.put(row(direct, "two", 5), of: "alice")
                try store.put(row(room, nil, 4), of: "alice")
                try store.put(row(direct, "other", 9), of: "carol")
            }
            func listed(after rev: Int64 = 0, limit: Int = 9) throws -> [DraftRow] {
                try store.read { try $0.drafts(of: "alice", after: rev, limit: limit) }
            }
            try expectEqual(try listed(), [row(group, "one", 3), row(room, nil, 4), row(direct, "two", 5)])
            try expectEqual(try listed(after: 3, limit: 1), [row(room, nil, 4)])
            try expectEqual(try store.read { try $0.draftCount(of: "alice") }, 2)
            try store.transaction { try $0.put(row(group, nil, 6), of: "alice") }
            try expectEqual(try listed(after: 5), [row(group, nil, 6)])
            try expectEqual(try store.read { try $0.draftCount(of: "alice") }, 1)
            try store.transaction { try $0.dropDeletedDrafts(of: "alice", keeping: 1) }
            try expectEqual(try listed(), [row(direct, "two", 5), row(group, nil, 6)])
            func draft(of user: UserID) throws -> DraftRow? { try store.read { try $0.draft(of: user, in: direct) } }
            try expectEqual(try draft(of: "alice"), row(direct, "two", 5))
            try expectEqual(try draft(of: "bob"), nil)
            try store.transaction { try $0.forget("alice") }
            try expectEqual(try listed(), [])
            try expectEqual(try draft(of: "carol"), row(direct, "other", 9))
            try store.transaction { try $0.dropDrafts(in: direct) }
            try expectEqual(try store.read { try $0.drafts(of: "carol", after: 0, limit: 9) }, [])
        }
    ]
}
