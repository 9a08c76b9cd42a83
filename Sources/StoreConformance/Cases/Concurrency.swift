import ScrollbackEngine
import ScrollbackModel
import Synchronization

extension StoreConformance {
    static let concurrency: [Case] = [
        Case("A read does not see writes after its first query", needsReadsDuringWrites: true) { store in
            let row = try store.makeConversation(.group("a"), messages: 2)
            try store.read { reader in
                let before = try ConversationSnapshot(of: row, in: reader)
                try runConcurrently([
                    {
                        try store.write { store, commit in
                            var row = row
                            try store.append([.sample(3)], to: &row, commit)
                            try store.put(MemberRow(conversation: row.number, user: "alice", standing: .member))
                        }
                    }
                ])
                try expectEqual(try ConversationSnapshot(of: row, in: reader), before)
                try expect(try reader.message(MessageID(3), in: row.number) == nil, "the snapshot has a later message")
            }
            try expectEqual(try store.read { try $0.log(of: row.number).count }, 3)
        },
        Case("A read during a transaction does not wait and does not see its changes", needsReadsDuringWrites: true) {
            store in
            let row = try store.makeConversation(.group("a"), messages: 2)
            try store.write { writer, commit in
                var row = row
                try writer.append([.sample(3)], to: &row, commit)
                try runConcurrently([
                    { [row] in
                        try store.read { reader in
                            try expectEqual(try reader.conversation(row.id)?.head, 2)
                            try expectEqual(try reader.log(of: row.number).count, 2)
                        }
                    }
                ])
            }
            try expectEqual(try store.read { try $0.conversation(row.id)?.head }, 3)
        },
        Case("Readers see only complete transactions") { store in
            let first = try store.makeConversation(.group("a"))
            let second = try store.makeConversation(.group("b"))
            let isDone = Flag()
            let writer: @Sendable () throws -> Void = {
                defer { isDone.set() }
                var rows = [first, second]
                for seq in stride(from: Seq(1), to: 300, by: 3) {
                    try store.write { store, commit in
                        for index in rows.indices {
                            try store.append((seq..<seq + 3).map { .sample($0) }, to: &rows[index], commit)
                        }
                    }
                }
            }
            let reader: @Sendable () throws -> Void = {
                var last: Seq = 0
                repeat {
                    let head = try store.read { store in
                        let row = try store.conversation(first.id)
                        let head = row?.head ?? 0
                        try expect(head % 3 == 0, "part of a transaction is visible: \(head)")
                        try expectEqual(
                            try store.message(atOrBelow: .max, in: first.number)?.countedIndex ?? 0,
                            row?.countedIndex ?? 0)
                        try expectEqual(try store.log(of: first.number).count, Int(head))
                        try expectEqual(try store.conversation(second.id)?.head, head)
                        try expectEqual(try store.message(atOrBelow: .max, in: second.number)?.seq ?? 0, head)
                        return head
                    }
                    try expect(head >= last, "a later read has fewer messages: \(head) after \(last)")
                    last = head
                } while !isDone.isSet
            }
            try runConcurrently([writer, reader, reader, reader])
            try expectEqual(try store.read { try $0.conversation(first.id)?.head }, 300)
        },
        Case("A read that starts after a commit sees the commit") { store in
            let row = try store.makeConversation(.group("a"))
            let worker: @Sendable () throws -> Void = {
                for _ in 0..<50 {
                    let seq = try store.write { store, commit in
                        var row = try store.conversation(row.id) ?? row
                        let next = row.head + 1
                        try store.append([.sample(next)], to: &row, commit)
                        return next
                    }
                    try store.read { store in
                        try expect(try store.message(at: seq, in: row.number) != nil, "message \(seq) is not visible")
                    }
                }
            }
            try runConcurrently([worker, worker, worker, worker])
            try expectEqual(try store.read { try $0.log(of: row.number) }, (1...200).map { .sample($0) })
            try expectEqual(try store.lastCommit, 201)
        },
    ]
}

private final class Flag: Sendable {
    private let state = Atomic(false)

    var isSet: Bool { state.load(ordering: .acquiring) }
    func set() { state.store(true, ordering: .releasing) }
}
