import Foundation
import ScrollbackEngine
import ScrollbackModel

extension StoreConformance {
    static let conversations: [Case] = [
        Case("An empty store returns no data") { store in
            try expectEqual(try store.lastCommit, 0)
            try expectEqual(try store.newest, Timetoken(rawValue: 0))
            try store.read { store in
                try expect(try store.conversation(.group("a")) == nil, "a conversation exists")
                try expect(try store.conversation(numbered: 1) == nil, "a conversation exists")
                try expect(try store.conversation(numbered: 0) == nil, "a conversation exists")
                try expectEqual(try store.channels(of: "a", after: nil, limit: 10), [])
                try expect(try store.member("alice", of: 1) == nil, "a member exists")
                try expectEqual(try store.members(of: 1, after: nil, limit: 10), [])
                try expectEqual(try store.memberships(of: "alice"), [])
                try expectEqual(try store.spans(of: "alice", in: 1), [])
                try expectEqual(try store.bits(.uncounted("alice"), of: 1, blocks: 0...(.max)), [])
                try expectEqual(try store.deletedRanges(of: nil, in: 1), [])
                try expectEqual(try store.changes(in: 1, after: 0, limit: 9), [])
                try expectEqual(try store.actions(at: nil, in: 1, after: nil, limit: 9), [])
                try expect(try store.key(MessageID(1), in: 1) == nil, "a message ID exists")
                try expect(try store.change(MessageID(1), in: 1) == nil, "a change exists")
                try expectEqual(try store.lastAction(in: 1), nil)
                try expectEqual(try store.conversations(after: 0, limit: 9), [])
                try expect(try store.settings() == nil, "settings exist")
                try expectEqual(try store.mentions(of: "alice", in: 1, above: 0), [])
                try expect(try store.message(at: 1, in: 1) == nil, "a message exists")
                try expect(try store.message(MessageID(1), in: 1) == nil, "a message exists")
                try expect(try store.message(atOrBelow: .max, in: 1) == nil, "a message exists")
                try expectEqual(try store.log(of: 1), [])
                try expect(try store.user("alice") == nil, "a user exists")
            }
        },
        Case("A conversation is found by ID and by number with all of its fields") { store in
            var row = ConversationRow.sample(.community("city", channel: "general"))
            row.name = ""
            row.avatar = "https://example.org/ä.png"
            row.metadata = RawJSON(known: #"{ "a" : [1,  2.50, "\u0000"] }"#)
            row.namedAt = Timetoken(rawValue: 1 << 63 | 7)
            row.visibility = .everything
            row.isPrivate = true
            row.isDeleted = true
            row.createdAt = Date(timeIntervalSinceReferenceDate: 123_456_789.123_456_7)
            row.salt = .max
            row.head = 5
            row.countedIndex = 4
            row.timetoken = Timetoken(rawValue: 1 << 63 | 12345)
            row.rev = 6
            row.firstSeq = 2
            row.floorCountedIndex = 1
            row.view = 3
            row.lastCommit = 9
            let stored = try store.write { [row] store, _ in
                var row = row
                try store.put(&row)
                return row
            }
            row.number = stored.number
            try expectEqual(stored, row)
            try store.read { [row] store in
                try expectEqual(try store.conversation(row.id), row)
                try expectEqual(try store.conversation(numbered: row.number), row)
                try expect(try store.conversation(numbered: row.number + 1) == nil, "another number finds it")
            }
        },
        Case("Optional settings of a conversation can be removed") { store in
            var row = try store.makeConversation(.group("a"))
            row.name = "name"
            row.avatar = "avatar"
            row.metadata = RawJSON(known: "{}")
            try store.transaction { [row] store in
                var row = row
                try store.put(&row)
            }
            row.name = nil
            row.avatar = nil
            row.metadata = nil
            try store.transaction { [row] store in
                var row = row
                try store.put(&row)
            }
            try store.read { [row] in try expectEqual(try $0.conversation(.group("a")), row) }
        },
        Case("A conversation gets a number once and keeps it") { store in
            let first = try store.makeConversation(.group("a"))
            let second = try store.makeConversation(.group("b"))
            try expect(first.number > 0 && second.number > 0, "a number is not above 0")
            try expect(first.number != second.number, "two conversations have the number \(first.number)")
            // Stored again without its number.
            var again = ConversationRow.sample(.group("a"))
            again.salt = 8
            try store.transaction { [again] store in
                var row = again
                try store.put(&row)
                try expectEqual(row.number, first.number)
            }
            again.number = first.number
            try store.transaction { try $0.erase(first.number) }
            try store.read { [again] store in
                try expectEqual(try store.conversation(numbered: first.number), again)
                try expectEqual(try store.conversation(.group("b")), second)
            }
            try expect(try store.makeConversation(.group("c")).number != second.number, "a number was reused")
        },
        Case("Conversation IDs of all kinds are distinct") { store in
            let names: [ConversationID] = [
                .direct(between: "a", and: "b"), .direct(between: "a", and: "a"), .system(to: "a", from: "b"),
                .system(to: "b", from: "a"), .group("a"), .room("a"), .community("a"), .community("a", channel: "b"),
                .community("a", channel: "a"), .community("b"),
            ]
            let rows = try names.map { try store.makeConversation($0) }
            try expectEqual(Set(rows.map(\.number)).count, names.count, "the number of rows")
            try store.read { store in
                for (name, row) in zip(names, rows) { try expectEqual(try store.conversation(name), row) }
            }
        },
        Case("Conversation IDs are compared by bytes") { store in
            var names: [ConversationID] = UnusualNames.all.map { .group(Identifier(known: $0)) }
            names += UnusualNames.all.map { .community("city", channel: Identifier(known: $0)) }
            names += UnusualNames.all.map { .direct(between: UserID(known: $0), and: "zz") }
            let rows = try names.map { try store.makeConversation($0) }
            try expectEqual(Set(rows.map(\.number)).count, names.count, "the number of rows")
            try store.read { store in
                for (name, row) in zip(names, rows) { try expectEqual(try store.conversation(name), row) }
            }
        },
        Case("The channels of a community are listed by name in pages") { store in
            try store.makeConversation(.community("city"))
            try store.makeConversation(.community("cit", channel: "other"))
            try store.makeConversation(.community("city2", channel: "other"))
            try store.makeConversation(.group("city"))
            let rows = try UnusualNames.all.map {
                try store.makeConversation(.community("city", channel: Identifier(known: $0)))
            }
            .sorted { $0.id < $1.id }
            var deleted = rows[3]
            deleted.isDeleted = true
            try store.transaction { [deleted] store in
                var row = deleted
                try store.put(&row)
            }
            var expected = rows
            expected[3] = deleted
            try store.read { [expected] store in
                try expectEqual(try store.channels(of: "city", after: nil, limit: 1000), expected)
                try expectEqual(try store.channels(of: "city", after: nil, limit: 0), [])
                try expectEqual(try store.channels(of: "town", after: nil, limit: 10), [])
                try expectEqual(try store.channels(of: "city", after: expected.last?.id.part, limit: 10), [])
                var listed: [ConversationRow] = []
                while case let page = try store.channels(of: "city", after: listed.last?.id.part, limit: 5),
                    !page.isEmpty
                {
                    listed += page
                }
                try expectEqual(listed, expected)
            }
        },
    ]
}
