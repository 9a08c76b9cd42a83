import ScrollbackModel

extension MemoryRows {
    func drafts(of user: UserID, after rev: Int64, limit: Int) -> [DraftRow] {
        let all = (drafts[user] ?? [:]).values.filter { $0.rev > rev }
        return Array(all.sorted { $0.rev < $1.rev }.prefix(limit))
    }

    func draftCount(of user: UserID) -> Int { (drafts[user] ?? [:]).values.count { $0.body != nil } }

    func draft(of user: UserID, in conversation: ConversationID) -> DraftRow? { drafts[user]?[conversation] }

    func put(_ draft: DraftRow, of user: UserID) {
        var all = drafts[user] ?? [:]
        all[draft.conversation] = draft
        change(\.drafts[user], all)
    }

    func dropDeletedDrafts(of user: UserID, keeping count: Int) {
        let deleted = (drafts[user] ?? [:]).values.filter { $0.body == nil }.sorted { $0.rev > $1.rev }
        for row in deleted.dropFirst(count) {
            change(\.drafts[user], drafts[user]?.filter { $0.key != row.conversation })
        }
    }

    func dropDrafts(in conversation: ConversationID) {
        for (user, rows) in drafts where rows[conversation] != nil {
            change(\.drafts[user], rows.filter { $0.key != conversation })
        }
    }
}
