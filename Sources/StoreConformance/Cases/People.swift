import Foundation
import ScrollbackEngine
import ScrollbackModel

extension StoreConformance {
    static let people: [Case] = [
        Case("A user comes back field by field, and is replaced as a whole") { store in
            var row = UserRow(
                profile: UserProfile(
                    id: "عَلي 🙂", name: "", avatar: "x", metadata: RawJSON(known: "{\"a\" :\t1}")), rev: .max,
                revokedAt: Date(timeIntervalSinceReferenceDate: 0.1 + 0.2))
            try store.change { [row] in try $0.put(row) }
            try store.read { [row] in try expectEqual(try $0.user("عَلي 🙂"), row) }
            row = UserRow(profile: UserProfile(id: "عَلي 🙂"), rev: 3)
            try store.change { [row] in try $0.put(row) }
            try store.read { [row] in try expectEqual(try $0.user("عَلي 🙂"), row) }
            try expect(try store.read { try $0.user("عَلي") } == nil, "half a name finds the user")
        },
        Case("Users are told apart by the bytes of their names") { store in
            try store.change { store in
                for (index, name) in Names.odd.enumerated() {
                    try store.put(UserRow(profile: UserProfile(id: UserID(known: name)), rev: Int64(index)))
                }
            }
            try store.read { store in
                for (index, name) in Names.odd.enumerated() {
                    try expectEqual(try store.user(UserID(known: name))?.rev, Int64(index), "the rev of \(name)")
                }
            }
        },
        Case("A member comes back field by field, and is replaced as a whole") { store in
            let conversation = try store.make(.group("a")).number
            var row = MemberRow(conversation: conversation, user: "alice", standing: .left, role: .owner)
            row.joinSeq = 1
            row.joinN = 2
            row.readSeq = 3
            row.readN = 4
            row.clearSeq = 5
            row.clearN = 6
            row.isMuted = true
            row.isPinned = true
            row.isMarkedUnread = true
            row.markedRev = 8
            row.removedSeq = 9
            row.roamSeq = 10
            row.view = 7
            row.userRev = .max
            try store.change { [row] in try $0.put(row) }
            try store.read { [row] store in
                try expectEqual(try store.member("alice", of: conversation), row)
                try expect(try store.member("alice", of: conversation + 1) == nil, "a member of another conversation")
                try expect(try store.member("Alice", of: conversation) == nil, "a member by another name")
            }
            for role in Role.allCases {
                row = MemberRow(conversation: conversation, user: "alice", standing: .member, role: role)
                try store.change { [row] in try $0.put(row) }
                try store.read { [row] in try expectEqual(try $0.member("alice", of: conversation), row) }
            }
        },
        Case("Members are listed by name, page by page, without who left or only reads") { store in
            let conversation = try store.make(.group("a")).number
            let other = try store.make(.group("b")).number
            let names = Names.odd.map { UserID(known: $0) }.sorted()
            try store.change { store in
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
        Case("A user's conversations are all that have a row of theirs") { store in
            let rows = try ["a", "b", "c", "d"].map { name in
                try store.make(.group(Identifier(known: name)))
            }
            let mine = [
                MemberRow(conversation: rows[0].number, user: "alice", standing: .member),
                MemberRow(conversation: rows[1].number, user: "alice", standing: .left),
                MemberRow(conversation: rows[2].number, user: "alice", standing: .reader),
            ]
            try store.change { store in
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
        Case("What a user has to do with each conversation is what its row and theirs say") { store in
            var group = try store.make(.group("g"))
            group.head = 9
            group.n = 8
            group.firstSeq = 4
            group.floorN = 2
            group.timetoken = Timetoken(rawValue: .max)
            group.recentSeq = 7
            group.recentTime = Timetoken(rawValue: 1 << 63)
            var quiet = try store.make(.direct(between: "alice", and: "bob"))
            quiet.timetoken = Timetoken(rawValue: 17)
            quiet.isDeleted = true
            var member = MemberRow(conversation: group.number, user: "alice", standing: .left, role: .owner)
            (member.joinSeq, member.joinN, member.readSeq, member.readN) = (2, 1, 5, 4)
            (member.clearSeq, member.clearN, member.removedSeq) = (3, 3, 6)
            (member.isMuted, member.isMarkedUnread, member.hasVoids, member.userRev) = (true, true, true, 12)
            var pinned = MemberRow(conversation: quiet.number, user: "alice", standing: .reader)
            pinned.isPinned = true
            try store.change { [group, quiet, member, pinned] store in
                for var row in [group, quiet] { try store.put(&row) }
                for row in [member, pinned] { try store.put(row) }
                try store.put(MemberRow(conversation: quiet.number, user: "bob", standing: .member))
            }
            try store.read { [group, quiet, member, pinned] store in
                try expectEqual(
                    try store.involvements(of: "alice"),
                    [InvolvementRow(of: group, member), InvolvementRow(of: quiet, pinned)])
                try expectEqual(try store.involvements(of: "carol"), [])
                let found = try store.involvements(of: "alice")[0]
                try expectEqual(
                    [found.baseN, found.position, Int64(bitPattern: found.activeAt.rawValue)], [4, 5, .min])
            }
        },
        Case("The channels of a community come by name, whether or not the user has a row there") { store in
            let community = try store.make(.community("city"))
            let channels = try ["b", "a", "é"].map {
                try store.make(.community("city", channel: Identifier(known: $0)))
            }
            _ = try store.make(.community("city2", channel: "a"))
            let reader = MemberRow(conversation: channels[0].number, user: "alice", standing: .reader)
            try store.change { store in
                try store.put(reader)
                try store.put(MemberRow(conversation: channels[1].number, user: "bob", standing: .member))
                try store.put(MemberRow(conversation: community.number, user: "alice", standing: .member))
            }
            try store.read { store in
                try expectEqual(
                    try store.channelInvolvements(of: "alice", in: "city"),
                    [
                        InvolvementRow(of: channels[1], nil), InvolvementRow(of: channels[0], reader),
                        InvolvementRow(of: channels[2], nil),
                    ])
                try expectEqual(try store.involvements(of: "alice").map(\.isCommunityItself), [true, false])
                try expectEqual(try store.channelInvolvements(of: "alice", in: "village"), [])
            }
        },
    ]
}
