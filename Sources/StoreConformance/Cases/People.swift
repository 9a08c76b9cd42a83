import Foundation
import ScrollbackEngine
import ScrollbackModel

extension StoreConformance {
    static let people: [Case] = [
        Case("A user keeps the values of all fields and is replaced as a whole") { store in
            var row = UserRow(
                profile: UserProfile(
                    id: "عَلي 🙂", name: "", avatar: "x", metadata: RawJSON(known: "{\"a\" :\t1}")), rev: .max,
                revokedAt: Date(timeIntervalSinceReferenceDate: 0.1 + 0.2))
            try store.transaction { [row] in try $0.put(row) }
            try store.read { [row] in try expectEqual(try $0.user("عَلي 🙂"), row) }
            row = UserRow(profile: UserProfile(id: "عَلي 🙂"), rev: 3)
            try store.transaction { [row] in try $0.put(row) }
            try store.read { [row] in try expectEqual(try $0.user("عَلي 🙂"), row) }
            try expect(try store.read { try $0.user("عَلي") } == nil, "half a user ID finds the user")
        },
        Case("Users are distinguished by the bytes of their IDs") { store in
            try store.transaction { store in
                for (index, name) in UnusualNames.all.enumerated() {
                    try store.put(UserRow(profile: UserProfile(id: UserID(known: name)), rev: Int64(index)))
                }
            }
            try store.read { store in
                for (index, name) in UnusualNames.all.enumerated() {
                    try expectEqual(try store.user(UserID(known: name))?.rev, Int64(index), "the rev of \(name)")
                }
            }
        },
        Case("A member keeps the values of all fields and is replaced as a whole") { store in
            let conversation = try store.makeConversation(.group("a")).number
            var row = MemberRow(conversation: conversation, user: "alice", standing: .left, role: .owner)
            row.joinSeq = 1
            row.joinCountedIndex = 2
            row.readSeq = 3
            row.readCountedIndex = 4
            row.clearSeq = 5
            row.clearCountedIndex = 6
            row.mutesPushes = true
            row.level = .mentions
            row.isPinned = true
            row.isMarkedUnread = true
            row.markedRev = 8
            row.removedSeq = 9
            row.newDeviceFloor = 10
            row.view = 7
            row.userRev = .max
            try store.transaction { [row] in try $0.put(row) }
            try store.read { [row] store in
                try expectEqual(try store.member("alice", of: conversation), row)
                try expect(try store.member("alice", of: conversation + 1) == nil, "a member of another log is found")
                try expect(try store.member("Alice", of: conversation) == nil, "a member with another ID is found")
            }
            for role in Role.allCases {
                row = MemberRow(conversation: conversation, user: "alice", standing: .member, role: role)
                try store.transaction { [row] in try $0.put(row) }
                try store.read { [row] in try expectEqual(try $0.member("alice", of: conversation), row) }
            }
        },
        Case("Members are listed by ID in pages, without former members and readers") { store in
            let conversation = try store.makeConversation(.group("a")).number
            let other = try store.makeConversation(.group("b")).number
            let names = UnusualNames.all.map { UserID(known: $0) }.sorted()
            try store.transaction { store in
                for name in names.reversed() {
                    try store.put(MemberRow(conversation: conversation, user: name, standing: .member))
                }
                try store.put(MemberRow(conversation: conversation, user: "a1", standing: .left))
                try store.put(MemberRow(conversation: conversation, user: "a2", standing: .reader))
                try store.put(MemberRow(conversation: other, user: "a3", standing: .member))
            }
            try store.read { store in
                try expectEqual(try store.members(of: conversation, after: nil, limit: 1000).map(\.user), names)
                try expectEqual(try store.members(of: conversation, after: nil, limit: 0), [])
                try expectEqual(try store.members(of: conversation, after: names.last, limit: 10), [])
                try expectEqual(
                    try store.members(of: conversation, after: "a1", limit: 1000).map(\.user),
                    names.filter { $0 > "a1" })
                var listed: [UserID] = []
                while case let page = try store.members(of: conversation, after: listed.last, limit: 4), !page.isEmpty {
                    listed += page.map(\.user)
                }
                try expectEqual(listed, names)
            }
        },
        Case("The memberships of a user include all conversations with a row of the user") { store in
            let rows = try ["a", "b", "c", "d"].map { name in
                try store.makeConversation(.group(Identifier(known: name)))
            }
            let mine = [
                MemberRow(conversation: rows[0].number, user: "alice", standing: .member),
                MemberRow(conversation: rows[1].number, user: "alice", standing: .left),
                MemberRow(conversation: rows[2].number, user: "alice", standing: .reader),
            ]
            try store.transaction { store in
                for row in mine { try store.put(row) }
                try store.put(MemberRow(conversation: rows[3].number, user: "alic", standing: .member))
                try store.put(MemberRow(conversation: rows[3].number, user: "alice2", standing: .member))
            }
            try store.read { store in
                try expectEqual(Set(try store.memberships(of: "alice")), Set(mine))
                try expectEqual(try store.memberships(of: "alice").count, 3)
                try expectEqual(try store.memberships(of: "bob"), [])
            }
        },
    ]
}
