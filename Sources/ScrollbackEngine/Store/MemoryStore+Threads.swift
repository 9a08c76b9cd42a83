import ScrollbackModel

extension MemoryRows {
    func threads(in conversation: Int64, before time: Timetoken?, limit: Int) -> [MessageRow] {
        let all = (messages[conversation] ?? []).compactMap { row in
            row.replies.map { (row: row, last: $0.lastReplyAt) }
        }
        return Array(
            all.filter { thread in time.map { thread.last < $0 } ?? true }.sorted { $0.last > $1.last }.prefix(limit)
                .map(\.row))
    }

    func mentionedReplies(
        of user: UserID, in conversation: Int64, above seq: Seq, limit: Int
    ) -> [MessageID: [Seq]] {
        let all = (mentions[conversation] ?? []).filter { $0.seq > seq }.sorted { $0.seq < $1.seq }
        let newest = [user, nil].flatMap { user in all.filter { $0.user == user }.suffix(limit) }
        let seqs = Set(newest.filter { $0.sender != user }.map(\.seq)).sorted()
        var found: [MessageID: [Seq]] = [:]
        for seq in seqs {
            guard let thread = message(at: seq, in: conversation)?.thread else { continue }
            found[thread, default: []].append(seq)
        }
        return found
    }

    func threadState(of user: UserID, in thread: MessageID, of conversation: Int64) -> ThreadStateRow? {
        threadStates[Key(conversation: conversation, user: user)]?.first { $0.thread == thread }
    }

    func threadStates(
        of user: UserID, in conversation: Int64, after thread: MessageID?, limit: Int
    ) -> [ThreadStateRow] {
        let all = threadStates[Key(conversation: conversation, user: user)] ?? []
        return Array(all.filter { row in thread.map { $0 < row.thread } ?? true }.prefix(limit))
    }

    func put(_ state: ThreadStateRow, of user: UserID, in conversation: Int64) {
        let key = Key(conversation: conversation, user: user)
        let others = (threadStates[key] ?? []).filter { $0.thread != state.thread }
        change(\.threadStates[key], (others + [state]).sorted { $0.thread < $1.thread })
    }

    func dropThread(_ thread: MessageID, in conversation: Int64) {
        for (key, states) in threadStates where key.conversation == conversation {
            guard states.contains(where: { $0.thread == thread }) else { continue }
            change(\.threadStates[key], states.filter { $0.thread != thread })
        }
        change(\.blocks[SetKey(conversation: conversation, set: .replies(thread))], nil)
    }
}
