import ScrollbackEngine
import ScrollbackModel

extension StoreConformance {
    private struct TestError: Error, Equatable {
        var number: Int
    }

    static let transactions: [Case] = [
        Case("Every transaction has a number, one above the previous one") { store in
            for number: Int64 in 1...3 {
                let commit = try store.write { _, commit in commit }
                try expectEqual(commit, number)
                try expectEqual(try store.lastCommit, number)
            }
            try store.makeConversation(.group("a"))
            try expectEqual(try store.lastCommit, 4)
            try expectError("a transaction that throws") { try store.transaction { _ in throw TestError(number: 1) } }
            try expectEqual(try store.lastCommit, 4)
            try store.transaction { try $0.put(UserRow(profile: UserProfile(id: "alice"))) }
            try expectEqual(try store.lastCommit, 5)
        },
        Case("The last commit and the newest timetoken are available during reads and transactions") { store in
            let row = try store.makeConversation(.group("a"), messages: 2)
            try store.read { reader in
                try expectEqual(try reader.conversation(row.id), row)
                try expectEqual(try store.lastCommit, 1)
                try expectEqual(try store.newest, row.timetoken)
            }
            try store.write { _, commit in
                try expectEqual(commit, 2)
                try expectEqual(try store.lastCommit, 1)
                try expectEqual(try store.newest, row.timetoken)
            }
        },
        Case("A transaction that throws changes nothing and rethrows the error") { store in
            let row = try store.makeConversation(.group("a"), messages: 3)
            let newest = try store.newest
            try store.transaction { store in
                try store.put(MemberRow(conversation: row.number, user: "alice", standing: .member))
                try store.put(UserRow(profile: UserProfile(id: "alice"), rev: 1))
                try store.put(SpanRow(joined: 0), of: "alice", in: row.number)
                try store.insert(1...1, into: .uncounted("alice"), of: row.number)
                try store.put(DeletedRangeRow(1...1), of: nil, in: row.number)
                try store.insert(ChangeRow(rev: 1, kind: .removal, places: 1...1, at: newest), in: row.number)
                try store.insert(KeyRow(.sample(1)), in: row.number)
                try store.insert(.sample(2, value: "a"), in: row.number)
                try store.insertMention(of: "alice", by: "bob", at: 2, in: row.number)
            }
            let before = try store.read { try ConversationSnapshot(of: row, in: $0) }

            let error = try expectError("the transaction") {
                try store.write { store, commit in
                    var row = row
                    try store.append([.sample(4), .sample(5)], to: &row, commit)
                    var member = MemberRow(conversation: row.number, user: "alice", standing: .left)
                    member.readSeq = 5
                    try store.put(member)
                    try store.put(MemberRow(conversation: row.number, user: "bob", standing: .member))
                    try store.put(UserRow(profile: UserProfile(id: "alice"), rev: 2))
                    try store.put(UserRow(profile: UserProfile(id: "bob"), rev: 2))
                    try store.put(SpanRow(joined: 0, left: 3), of: "alice", in: row.number)
                    try store.put(SpanRow(joined: 4), of: "alice", in: row.number)
                    try store.insert(1...2, into: .uncounted("alice"), of: row.number)
                    try store.insert(3...5_000, into: .removed, of: row.number)
                    try store.dropDeletedRange(from: 1, of: nil, in: row.number)
                    try store.put(DeletedRangeRow(4...5), of: nil, in: row.number)
                    try store.insert(ChangeRow(rev: 2, kind: .message, places: 2...2, at: newest), in: row.number)
                    try store.dropChanges(in: row.number, through: 1)
                    try store.insert(KeyRow(.sample(4)), in: row.number)
                    try store.insert(.sample(3, value: "b"), in: row.number)
                    try store.removeAction(at: ActionRow.sample(2, value: "a").timetoken, in: row.number)
                    var tombstone = MessageRow.sample(2)
                    tombstone.content = nil
                    try store.update(tombstone, in: row.number)
                    try store.removeMessages(1...1, in: row.number)
                    try store.put(settings: RawJSON(known: "{}"))
                    try store.insertMention(of: nil, by: "bob", at: 4, in: row.number)
                    var other = ConversationRow.sample(.group("b"))
                    try store.put(&other)
                    try store.append([.sample(1)], to: &other, commit)
                    try store.dropBits(.uncounted("alice"), of: row.number, below: .max)
                    try store.erase(row.number)
                    throw TestError(number: 7)
                }
            }
            try expectEqual(error as? TestError, TestError(number: 7))
            try expectEqual(try store.newest, newest)
            try store.read { store in
                try expectEqual(try ConversationSnapshot(of: row, in: store), before)
                try expect(try store.member("bob", of: row.number) == nil, "bob remains")
                try expectEqual(try store.user("alice")?.rev, 1)
                try expect(try store.user("bob") == nil, "bob is left")
                try expect(try store.conversation(.group("b")) == nil, "the new conversation remains")
                try expect(try store.message(MessageID(4), in: row.number) == nil, "a message remains")
            }
            let other = try store.makeConversation(.group("b"), messages: 1)
            try expect(other.number != row.number, "a number was reused")
            try expectEqual(try store.read { try $0.log(of: other.number) }, [.sample(1)])
        },
        Case("An error of the engine passes through unchanged") { store in
            let refusal = ChatError(.conflict, "no", parameter: "id")
            func thrown(_ body: () throws -> Void) throws -> ChatError? { try expectError("it", body) as? ChatError }
            try expectEqual(try thrown { try store.transaction { _ in throw refusal } }, refusal)
            try expectEqual(try thrown { try store.read { _ in throw refusal } }, refusal)
        },
        Case("A read that throws rethrows the error and does no harm") { store in
            let row = try store.makeConversation(.group("a"), messages: 2)
            for _ in 0..<10 {
                let error = try expectError("the read") {
                    try store.read { store in
                        _ = try store.log(of: row.number)
                        throw TestError(number: 2)
                    }
                }
                try expectEqual(error as? TestError, TestError(number: 2))
            }
            try store.transaction { try $0.insert(.sample(3), in: row.number) }
            try expectEqual(try store.read { try $0.log(of: row.number).count }, 3)
        },
        Case("The newest timetoken is the highest of all conversations, compared as unsigned") { store in
            func put(_ name: Identifier, _ time: UInt64) throws {
                try store.transaction { store in
                    var row = try store.conversation(.group(name)) ?? .sample(.group(name))
                    row.timetoken = Timetoken(rawValue: time)
                    try store.put(&row)
                }
            }
            try put("a", 10)
            try expectEqual(try store.newest.rawValue, 10)
            try put("b", 7)
            try expectEqual(try store.newest.rawValue, 10)
            try put("c", 1 << 63 | 5)
            try expectEqual(try store.newest.rawValue, 1 << 63 | 5)
            try put("a", 1 << 62)
            try expectEqual(try store.newest.rawValue, 1 << 63 | 5)
        },
        Case("A transaction can be as large as a full batch") { store in
            let rows = try (0..<20).map { try store.makeConversation(.group(Identifier(known: "group \($0)"))) }
            try store.write { store, commit in
                var rows = rows
                for seq: Seq in 1...100 {
                    for index in rows.indices { try store.append([.sample(seq)], to: &rows[index], commit) }
                }
            }
            try store.read { store in
                for row in rows {
                    try expectEqual(try store.log(of: row.number), (1...100).map { .sample($0) })
                    try expectEqual(try store.conversation(row.id)?.head, 100)
                }
            }
        },
        Case("The generation of a store changes only with an incarnation that has another one") { store in
            let generation = store.generation
            try store.makeConversation(.group("a"))
            try expectEqual(store.generation, generation)
            try expectEqual(try store.read { try $0.incarnations() }, [])
            func row(
                _ number: UInt64, _ generation: UInt64, _ commit: Int64, lostAfter: UInt64? = nil
            ) -> IncarnationRow {
                IncarnationRow(
                    id: MessageID(high: number, low: 1 << 63), generation: generation, firstCommit: commit,
                    newest: Timetoken(rawValue: number * 10),
                    lostAfter: lostAfter.map { Timetoken(rawValue: $0) })
            }
            var rows: [IncarnationRow] = []
            try store.write { store, commit in
                rows.append(row(2, generation, commit))
                try store.begin(rows[0])
            }
            try expectEqual(store.generation, generation)
            try expectEqual(try store.read { try $0.incarnations() }, rows)
            // A transaction that is rolled back begins nothing.
            do {
                try store.write { (store, commit) throws -> Void in
                    try store.begin(row(3, ~generation, commit))
                    throw ChatError(.conflict, "rolled back")
                }
            } catch is ChatError {}
            try expectEqual(store.generation, generation)
            try expectEqual(try store.read { try $0.incarnations() }, rows)
            try store.write { store, commit in
                rows.append(row(1, ~generation, commit, lostAfter: .max))
                try store.begin(rows[1])
                try expectEqual(try store.incarnations(), rows)
            }
            try expectEqual(store.generation, ~generation)
            try expectEqual(try store.read { try $0.incarnations() }, rows)
        },
    ]
}
