package import ScrollbackModel
package import ScrollbackWire

extension Engine {
    /// The maximum number of threads that one call to `threads` examines.
    package static let maximumThreadsExamined = 200

    /// Returns the threads of a conversation whose first message the caller can see, those with the newest reply first.
    ///
    /// One call examines at most ``maximumThreadsExamined`` threads and returns about 512 KiB. A page can therefore be
    /// empty although more pages follow.
    ///
    /// - Throws: `not-member` for a former member, because the list would show what changed since.
    package func threads(
        of id: ConversationID, isFollowed: Bool = false, before time: Timetoken? = nil, limit: Int, by caller: Caller
    ) throws -> ListThreads.Answer {
        try checkLimit(limit)
        try checkHistory(by: caller)
        let name = id.logID.absolute(for: caller.user)
        return try withAccess(to: name, for: caller) { access, store in
            guard access.end == nil else {
                throw ChatError(.notMember, "Only members of \(name) list its threads.")
            }
            let row = access.conversation
            let counts = try ThreadCounts(for: access, in: store)
            var answer = ListThreads.Answer(threads: [], next: time)
            var bytes = 0
            for _ in 0..<Self.maximumThreadsExamined {
                guard let root = try store.threads(in: row.number, before: answer.next, limit: 1).first,
                    let replies = root.replies
                else {
                    answer.next = nil
                    return answer
                }
                if answer.threads.count == limit || bytes >= ResponseBudget.answerBytes { return answer }
                answer.next = replies.lastReplyAt
                guard access.visible.contains(root.seq), case let state = try counts.state(of: root.id),
                    state.isFollowed || !isFollowed
                else { continue }
                let seq = try store.position(atOrBefore: replies.lastReplyAt, in: row)
                let last = access.visible.contains(seq) ? try store.message(at: seq, in: row.number) : nil
                answer.threads.append(
                    MessageThread(
                        parent: try access.message(root, in: store),
                        lastReply: try last.map { try access.message($0, in: store) }, state: state))
                bytes += root.weight + (last?.weight ?? 0)
            }
            return answer
        }
    }
}
