import Foundation
import ScrollbackEngine
import ScrollbackModel

extension StoreConformance {
    static let receiptsAndInvitations: [Case] = [
        Case("A receipt keeps its value, can be replaced, and is erased with its conversation") { store in
            let conversation = try store.makeConversation(.direct(between: "alice", and: "bob")).number
            let none = ReceiptRow()
            try store.read { try expectEqual(try $0.receipt(of: "bob", in: conversation), none) }
            for (readSeq, deliveredSeq) in [(5, 0), (3, 8), (0, 9), (.max, .max)] as [(Seq, Seq)] {
                let row = ReceiptRow(readSeq: readSeq, deliveredSeq: deliveredSeq)
                try store.transaction { try $0.put(row, of: "bob", in: conversation) }
                try store.read { store in
                    try expectEqual(try store.receipt(of: "bob", in: conversation), row)
                    try expectEqual(try store.receipt(of: "Bob", in: conversation), none)
                    try expectEqual(try store.receipt(of: "alice", in: conversation), none)
                    try expectEqual(try store.receipt(of: "bob", in: conversation + 1), none)
                }
            }
            try store.transaction { try $0.erase(conversation) }
            try store.read { try expectEqual(try $0.receipt(of: "bob", in: conversation), none) }
        },
        Case("Current members are counted up to a limit") { store in
            let conversation = try store.makeConversation(.group("a")).number
            let other = try store.makeConversation(.group("b")).number
            let standings: [MemberRow.Standing] = [.reader, .member, .left, .member, .member]
            try store.transaction { store in
                for (index, standing) in standings.enumerated() {
                    let user = UserID(known: "u\(index)")
                    try store.put(MemberRow(conversation: conversation, user: user, standing: standing))
                }
                try store.put(MemberRow(conversation: other, user: "u1", standing: .member))
            }
            try store.read { store in
                for (limit, count) in [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3), (500, 3)] {
                    try expectEqual(try store.memberCount(of: conversation, limit: limit), count, "up to \(limit)")
                }
                try expectEqual(try store.memberCount(of: other, limit: 21), 1)
                try expectEqual(try store.memberCount(of: other + 1, limit: 21), 0)
            }
        },
        Case("Read positions are listed by user ID in pages, regardless of the membership") { store in
            let conversation = try store.makeConversation(.group("a")).number
            let other = try store.makeConversation(.group("b")).number
            let standings: [MemberRow.Standing] = [.reader, .member, .left]
            let names = UnusualNames.all.map { UserID(known: $0) }.sorted()
            try store.transaction { store in
                for (index, name) in names.enumerated().reversed() {
                    var row = MemberRow(conversation: conversation, user: name, standing: standings[index % 3])
                    row.readSeq = Seq(index)
                    try store.put(row)
                }
                try store.put(MemberRow(conversation: other, user: "a3", standing: .member))
            }
            try store.read { store in
                var listed: [MemberRow] = []
                while case let page = try store.positions(in: conversation, after: listed.last?.user, limit: 4),
                    !page.isEmpty
                {
                    listed += page
                }
                try expectEqual(listed.map(\.user), names)
                try expectEqual(listed.map(\.readSeq), names.indices.map { Seq($0) })
                try expectEqual(try store.positions(in: conversation, after: nil, limit: 0), [])
            }
        },
        Case("An invitation keeps its values, can be replaced, and is erased with its conversation") { store in
            let (a, b) = (
                try store.makeConversation(.group("a")).number, try store.makeConversation(.group("b")).number
            )
            let at = Date(timeIntervalSince1970: 1_795_255_260.123)
            var row = InvitationRow(conversation: a, user: "bob", by: "alice", at: at, until: at + 60)
            for until in [at + 60, nil, at + 1] as [Date?] {
                row.until = until
                try store.transaction { [row] in try $0.put(row) }
                try store.read { [row] store in
                    try expectEqual(try store.invitation(of: "bob", to: a), row)
                    try expectEqual(try store.invitation(of: "Bob", to: a), nil)
                    try expectEqual(try store.invitation(of: "bob", to: b), nil)
                }
            }
            try store.transaction { store in
                try store.put(InvitationRow(conversation: b, user: "bob", by: "carol", at: at))
                try store.put(InvitationRow(conversation: a, user: "carol", by: "alice", at: at))
                try store.erase(a)
            }
            try store.read { store in
                try expectEqual(try store.invitation(of: "bob", to: a), nil)
                try expectEqual(try store.invitations(of: "bob", after: 0, limit: 10).map(\.conversation), [b])
                try expectEqual(try store.invitations(to: a, after: nil, limit: 10), [])
            }
            try store.transaction { try $0.dropInvitation(of: "bob", to: b) }
            try store.read { try expectEqual(try $0.invitation(of: "bob", to: b), nil) }
        },
        Case("Invitations are listed by user ID and by conversation in pages") { store in
            let numbers = try ["a", "b", "c"].map { try store.makeConversation(.group(Identifier(known: $0))).number }
            let names = UnusualNames.all.map { UserID(known: $0) }.sorted()
            let at = Date(timeIntervalSince1970: 1_795_255_260)
            try store.transaction { store in
                for number in numbers {
                    for name in names.reversed() {
                        try store.put(InvitationRow(conversation: number, user: name, by: "alice", at: at))
                    }
                }
            }
            try store.read { store in
                var listed: [UserID] = []
                while case let page = try store.invitations(to: numbers[1], after: listed.last, limit: 3), !page.isEmpty
                {
                    listed += page.map(\.user)
                }
                try expectEqual(listed, names)
                let first = try store.invitations(of: names[0], after: 0, limit: 2).map(\.conversation)
                try expectEqual(first, Array(numbers.prefix(2)))
                try expectEqual(
                    try store.invitations(of: names[0], after: numbers[1], limit: 2).map(\.conversation), [numbers[2]])
                try expectEqual(try store.invitations(of: "nobody", after: 0, limit: 2), [])
            }
        },
        Case("Expired invitations are removed up to a limit, and other invitations stay") { store in
            let conversation = try store.makeConversation(.group("a")).number
            let at = Date(timeIntervalSince1970: 1_795_255_260)
            try store.transaction { store in
                for number in 1...5 {
                    try store.put(
                        InvitationRow(
                            conversation: conversation, user: UserID(known: "u\(number)"), by: "alice", at: at,
                            until: at + Double(number)))
                }
                try store.put(InvitationRow(conversation: conversation, user: "forever", by: "alice", at: at))
                try expectEqual(try store.dropInvitations(endedBy: at + 3, limit: 2), 2)
                try expectEqual(try store.dropInvitations(endedBy: at + 3, limit: 2), 1)
                try expectEqual(try store.dropInvitations(endedBy: at + 3, limit: 2), 0)
            }
            try store.read { store in
                try expectEqual(
                    try store.invitations(to: conversation, after: nil, limit: 10).map(\.user), ["forever", "u4", "u5"])
            }
        },
        Case("The last seen time of a user is stored and can be replaced") { store in
            let time = Date(timeIntervalSince1970: 1_795_255_260)
            try store.read { try expectEqual(try $0.lastSeen(of: "bob"), nil) }
            for date in [time, time + 1, time - 1] {
                try store.transaction { try $0.put(lastSeen: date, of: "bob") }
                try store.read { store in
                    try expectEqual(try store.lastSeen(of: "bob"), date)
                    try expectEqual(try store.lastSeen(of: "Bob"), nil)
                }
            }
        },
        Case("A failed transaction does not change receipts, invitations and presence") { store in
            let conversation = try store.makeConversation(.group("a")).number
            let time = Date(timeIntervalSince1970: 1_795_255_260)
            struct RollbackError: Error {}
            try expectError("the transaction") {
                try store.transaction { store in
                    try store.put(ReceiptRow(readSeq: 5, deliveredSeq: 6), of: "bob", in: conversation)
                    try store.put(InvitationRow(conversation: conversation, user: "bob", by: "alice", at: time))
                    try store.put(lastSeen: time, of: "bob")
                    throw RollbackError()
                }
            }
            try store.read { store in
                try expectEqual(try store.receipt(of: "bob", in: conversation), ReceiptRow())
                try expectEqual(try store.invitation(of: "bob", to: conversation), nil)
                try expectEqual(try store.lastSeen(of: "bob"), nil)
            }
        },
    ]
}
