import ScrollbackEngine
import ScrollbackModel

extension StoreConformance {
    static let threads: [Case] = [
        Case("Threads are listed by the time of their newest reply, in pages") { store in
            let row = try store.makeConversation(.group("a"), messages: 6)
            let other = try store.makeConversation(.group("b"), messages: 2)
            func time(_ seq: Seq) -> Timetoken { MessageRow.sample(seq).timetoken }
            try store.transaction { store in
                for (seq, last) in [(1, 6), (2, 4), (3, 5)] as [(Seq, Seq)] {
                    var root = MessageRow.sample(seq)
                    root.replies = ReplySummary(count: 1, lastReplyAt: time(last))
                    try store.update(root, in: row.number)
                }
                var root = MessageRow.sample(1)
                root.replies = ReplySummary(count: 1, lastReplyAt: time(2))
                try store.update(root, in: other.number)
            }
            func listed(before: Seq?, limit: Int = 9) throws -> [Seq] {
                try store.read { try $0.threads(in: row.number, before: before.map(time), limit: limit) }.map(\.seq)
            }
            try expectEqual(try listed(before: nil), [1, 3, 2])
            try expectEqual(try listed(before: nil, limit: 2), [1, 3])
            try expectEqual(try listed(before: 5), [2])
            try expectEqual(try listed(before: 4), [])
            // A thread without replies is no longer listed.
            try store.transaction { try $0.update(.sample(3), in: row.number) }
            try expectEqual(try listed(before: nil), [1, 2])
        },
        Case("Replies that mention a user or everyone are listed by thread, without the user's own") { store in
            let row = try store.makeConversation(.group("a"), messages: 1)
            try store.transaction { store in
                for seq in 2...7 as ClosedRange<Seq> {
                    var reply = MessageRow.sample(seq)
                    reply.thread = seq == 6 ? nil : MessageID(seq == 5 ? 9 : 1)
                    try store.insert(reply, in: row.number)
                }
                try store.insertMention(of: "bob", by: "alice", at: 2, in: row.number)
                try store.insertMention(of: "bob", by: "alice", at: 4, in: row.number)
                try store.insertMention(of: nil, by: "alice", at: 4, in: row.number)
                try store.insertMention(of: nil, by: "alice", at: 5, in: row.number)
                try store.insertMention(of: "bob", by: "alice", at: 6, in: row.number)
                try store.insertMention(of: nil, by: "bob", at: 7, in: row.number)
            }
            func found(above seq: Seq, limit: Int = 9) throws -> [MessageID: [Seq]] {
                try store.read { try $0.mentionedReplies(of: "bob", in: row.number, above: seq, limit: limit) }
            }
            try expectEqual(try found(above: 0), [MessageID(1): [2, 4], MessageID(9): [5]])
            try expectEqual(try found(above: 2), [MessageID(1): [4], MessageID(9): [5]])
            try expectEqual(try found(above: 5), [:])
            // The newest mention of the user is in a message without a thread, and that of everyone is the user's own.
            try expectEqual(try found(above: 0, limit: 1), [:])
            try expectEqual(try found(above: 0, limit: 2), [MessageID(1): [4], MessageID(9): [5]])
        },
        Case("A user's states in threads are replaced, listed in order, and deleted with their thread or user") {
            store in
            let row = try store.makeConversation(.group("a"), messages: 1)
            let states = (1...3).map {
                ThreadStateRow(
                    thread: MessageID($0), following: $0 == 1 ? .followed : .unfollowed, readSeq: Seq($0),
                    readCountedIndex: 2, userRev: 7)
            }
            try store.transaction { store in
                for state in states.reversed() { try store.put(state, of: "alice", in: row.number) }
                try store.put(ThreadStateRow(thread: MessageID(2)), of: "bob", in: row.number)
                try store.put(ThreadStateRow(thread: MessageID(2)), of: "alice", in: row.number + 1)
                try store.insert(5...5, into: .replies(MessageID(2)), of: row.number)
                try store.insert(6...6, into: .replies(MessageID(3)), of: row.number)
            }
            func listed(_ user: UserID, after: Int? = nil, limit: Int = 9) throws -> [ThreadStateRow] {
                try store.read {
                    try $0.threadStates(
                        of: user, in: row.number, after: after.map { MessageID($0) }, limit: limit)
                }
            }
            try expectEqual(try listed("alice"), states)
            try expectEqual(try listed("alice", after: 1, limit: 1), [states[1]])
            var changed = states[0]
            changed.following = .undecided
            changed.readSeq = 9
            try store.transaction { try $0.put(changed, of: "alice", in: row.number) }
            try store.read { store in
                try expectEqual(try store.threadState(of: "alice", in: MessageID(1), of: row.number), changed)
                try expectEqual(try store.threadState(of: "bob", in: MessageID(1), of: row.number), nil)
            }
            try store.transaction { try $0.dropThread(MessageID(2), in: row.number) }
            try expectEqual(try listed("alice"), [changed, states[2]])
            try expectEqual(try listed("bob"), [])
            try store.read { store in
                try expectEqual(try store.numbers(.replies(MessageID(2)), of: row.number), [])
                try expectEqual(try store.numbers(.replies(MessageID(3)), of: row.number), [6])
                try expect(
                    try store.threadState(of: "alice", in: MessageID(2), of: row.number + 1) != nil,
                    "a state of another conversation is gone")
            }
            try store.transaction { store in
                try store.put(states[2], of: "bob", in: row.number)
                try store.forget("alice", in: row.number)
            }
            try expectEqual(try listed("alice"), [])
            try expectEqual(try listed("bob"), [states[2]])
            try store.transaction { try $0.erase(row.number) }
            try expectEqual(try listed("bob"), [])
        },
    ]
}
