import Foundation
import ScrollbackEngine
import ScrollbackModel

extension StoreConformance {
    private static let date = Date(timeIntervalSince1970: 1_795_255_260.123)

    static let operations: [Case] = [
        Case("Users are listed by the bytes of their IDs in pages, filtered by prefix and state") { store in
            let names = UnusualNames.all.map { UserID(known: $0) }.sorted()
            try store.transaction { store in
                for (index, name) in names.enumerated() {
                    let state = UserState.allCases[index % 4]
                    try store.put(
                        UserRow(
                            profile: UserProfile(id: name, name: "n"), rev: 3, revokedAt: date, state: state,
                            isBanned: index % 3 == 0, isInvitationOnly: index % 5 == 0))
                }
            }
            try store.read { store in
                for state in [nil] + UserState.allCases.map(UserState?.some) {
                    for prefix in ["", "a", "A", "é", "غرفة", "👩", "z", String(repeating: "x", count: 127)] {
                        var listed: [UserRow] = []
                        while case let page = try store.users(
                            prefix: prefix, state: state, after: listed.last?.profile.id, limit: 3), !page.isEmpty
                        {
                            listed += page
                        }
                        let wanted = names.enumerated().filter { index, name in
                            let own = UserState.allCases[index % 4]
                            return name.text.utf8.starts(with: prefix.utf8)
                                && (state.map { $0 == own } ?? (own != .erased))
                        }
                        try expectEqual(
                            listed.map(\.profile.id), wanted.map(\.element), "\(prefix) \(String(describing: state))")
                        try expectEqual(listed.map(\.isBanned), wanted.map { $0.offset % 3 == 0 })
                        try expectEqual(listed.map(\.isInvitationOnly), wanted.map { $0.offset % 5 == 0 })
                    }
                }
            }
        },
        Case("Conversations of a kind are listed by ID in pages, including deleted ones") { store in
            let names = UnusualNames.all.map { Identifier(known: $0) }
            let channels: [ConversationID] = ["a", "é", "a "].flatMap { target in
                [nil, "b", "a", "👩"].map { part in
                    .community(Identifier(known: target), channel: part.map { Identifier(known: $0) })
                }
            }
            for id in names.map({ ConversationID.group($0) }) + channels { try store.makeConversation(id) }
            func isBelow(_ a: [String], _ b: [String]) -> Bool {
                a[0].utf8.elementsEqual(b[0].utf8)
                    ? a[1].utf8.lexicographicallyPrecedes(b[1].utf8) : a[0].utf8.lexicographicallyPrecedes(b[0].utf8)
            }
            try store.read { store in
                for (kind, prefix) in [
                    (ConversationKind.group, ""), (.group, "a"), (.community, ""), (.community, "a"),
                ] {
                    var listed: [ConversationID] = []
                    while case let page = try store.conversations(
                        kind: kind, prefix: prefix, after: listed.last, limit: 3), !page.isEmpty
                    {
                        listed += page.map(\.id)
                    }
                    let all = (kind == .group ? names.map { ConversationID.group($0) } : channels)
                        .filter { $0.target.text.utf8.starts(with: prefix.utf8) }
                        .map { [$0.target.text, $0.part?.text ?? ""] }.sorted(by: isBelow)
                    try expectEqual(listed.map { [$0.target.text, $0.part?.text ?? ""] }, all, "\(kind) \(prefix)")
                    // A cursor below all of these names starts with the first one.
                    let below = ConversationID.group(Identifier(known: "\u{1F}"))
                    let first = try store.conversations(kind: kind, prefix: prefix, after: below, limit: 3).map(\.id)
                    try expectEqual(first, Array(listed.prefix(3)), "\(kind) \(prefix)")
                }
            }
        },
        Case("A ban keeps its values, can be replaced, expires, and is erased with its conversation") { store in
            let number = try store.makeConversation(.group("a")).number
            let ban = Ban(id: "bob", until: date, reason: "spam", by: "root", at: date)
            var forever = ban
            forever.until = nil
            forever.reason = nil
            for row in [BanRow(conversation: number, ban: ban), BanRow(conversation: number, ban: forever)] {
                try store.transaction { try $0.put(row) }
                try store.read { try expectEqual(try $0.ban(of: "bob", in: number), row) }
            }
            try store.transaction { store in
                for (index, name) in UnusualNames.all.enumerated() {
                    var ban = ban
                    ban.id = UserID(known: name)
                    ban.until = date + Double(UnusualNames.all.count - index)
                    try store.put(BanRow(conversation: 0, ban: ban))
                }
            }
            try store.read { store in
                try expectEqual(try store.ban(of: "bob", in: 0), nil)
                try expectEqual(
                    try store.bans(in: 0, after: nil, limit: 100).map(\.ban.id),
                    UnusualNames.all.map { UserID(known: $0) }.sorted())
                try expectEqual(try store.bans(in: number, after: "a", limit: 100).map(\.ban.id), ["bob"])
                try expectEqual(
                    try store.bans(endedBefore: date + 2, limit: 9).map(\.ban.id.text),
                    Array(UnusualNames.all.suffix(2).reversed()))
                try expectEqual(try store.bans(endedBefore: .distantFuture, limit: 3).count, 3)
            }
            try store.transaction { store in
                try store.erase(number)
                try store.dropBan(of: "a", in: 0)
            }
            try store.read { store in
                try expectEqual(try store.ban(of: "bob", in: number), nil)
                try expectEqual(try store.ban(of: "a", in: 0), nil)
            }
        },
        Case("Reports keep their values and are listed by number, by state, by reporter and by sender") { store in
            let conversation = try store.makeConversation(.group("a"), messages: 6).number
            func report(_ seq: Seq, by reporter: UserID) -> ReportRow {
                ReportRow(
                    conversation: conversation, message: .sample(seq), reporter: reporter,
                    reason: .init(rawValue: "app:x"), text: seq == 1 ? nil : "why", at: date)
            }
            var rows: [ReportRow] = []
            try store.transaction { store in
                for seq in 1...6 {
                    var row = report(Seq(seq), by: seq % 2 == 0 ? "bob" : "carol")
                    try store.put(&row)
                    if seq > 3 {
                        row.isOpen = false
                        row.note = "done"
                        row.closedBy = "root"
                        row.closedAt = date
                        row.content = nil
                        try store.put(&row)
                    }
                    rows.append(row)
                }
            }
            try expectEqual(rows.map(\.number), Set(rows.map(\.number)).sorted())
            try store.read { store in
                for row in rows {
                    try expectEqual(try store.report(row.number), row)
                    try expectEqual(
                        try store.report(of: row.message, in: conversation, by: row.reporter), row)
                }
                try expectEqual(try store.report(of: MessageID(1), in: conversation, by: "bob"), nil)
                try expectEqual(try store.reports(isOpen: nil, below: .max, limit: 10), rows.reversed())
                try expectEqual(
                    try store.reports(isOpen: true, below: rows[2].number, limit: 1), [rows[1]])
                try expectEqual(try store.reports(isOpen: false, below: .max, limit: 2), [rows[5], rows[4]])
                try expectEqual(
                    try store.reports(by: "bob", after: rows[1].number, limit: 10), [rows[3], rows[5]])
                try expectEqual(try store.reports(about: "alice", after: rows[4].number, limit: 10), [rows[5]])
                try expectEqual(try store.reports(about: "bob", after: 0, limit: 10), [])
            }
        },
        Case("An erasure keeps its values, and is found by number and ID until it is complete") { store in
            var first = ErasureRow(
                id: UUID(), user: "alice", messages: .anonymize, replacement: "deleted-1", createdAt: date)
            var second = ErasureRow(
                id: UUID(), user: "bob", messages: .erase, replacement: "deleted-2", createdAt: date)
            try store.transaction { store in
                try store.put(&first)
                try store.put(&second)
                first.stage = .files
                first.through = 7
                first.throughSeq = 8
                (first.conversationCount, first.messageCount, first.fileCount) = (1, 2, 3)
                first.error = "no"
                try store.put(&first)
            }
            try expect(second.number > first.number && first.number > 0, "the numbers do not increase")
            try store.read { store in
                try expectEqual(try store.erasure(first.number), first)
                try expectEqual(try store.erasure(named: second.id), second)
                try expectEqual(try store.openErasures(limit: 10), [first, second])
                try expectEqual(try store.openErasures(limit: 1), [first])
            }
            first.stage = .done
            first.endedAt = date
            try store.transaction { try $0.put(&first) }
            try store.read { store in
                try expectEqual(try store.openErasures(limit: 10), [second])
                try expectEqual(try store.erasure(named: first.id), first)
            }
        },
        Case("Memberships and participants are listed by number, files by ID, and mentions by sequence number") {
            store in
            let numbers = try (1...5).map { try store.makeConversation(.group(Identifier(known: "g\($0)"))).number }
            let files = (0..<5).map { _ in
                MediaRow(
                    id: MediaID(), owner: "alice", conversation: .group("g1"), type: .file, mediaType: "text/plain",
                    size: 1, blob: BlobID(of: [1]), createdAt: date)
            }
            try store.transaction { store in
                for number in numbers {
                    try store.put(MemberRow(conversation: number, user: "alice", standing: .member))
                    try store.insertParticipant("bob", in: number)
                    try store.insertParticipant("bob", in: number)
                }
                for file in files { try store.put(file) }
                for seq in [5, 2, 9] as [Seq] {
                    try store.insertMention(of: "alice", by: "bob", at: seq, in: numbers[0])
                }
                try store.setOwner("carol", of: files[0].id)
            }
            try store.read { store in
                try expectEqual(
                    try store.memberships(of: "alice", after: numbers[1], limit: 2).map(\.conversation),
                    Array(numbers[2...3]))
                try expectEqual(try store.participations(of: "bob", after: numbers[3], limit: 9), [numbers[4]])
                let ids = files.dropFirst().map(\.id).sorted()
                try expectEqual(try store.media(of: "alice", after: nil, limit: 9).map(\.id), ids)
                try expectEqual(try store.media(of: "alice", after: ids[1], limit: 1).map(\.id), [ids[2]])
                try expectEqual(try store.media(of: "carol", after: nil, limit: 9).map(\.id), [files[0].id])
                try expectEqual(
                    try store.places(mentioning: "alice", in: numbers[0], above: 2, limit: 9), [5, 9])
            }
        },
        Case("Forgetting a user removes only the data of that user") { store in
            let row = try store.makeConversation(.group("a"), messages: 3)
            let people: [UserID] = ["alice", "bob"]
            try store.transaction { store in
                for user in people {
                    try store.put(MemberRow(conversation: row.number, user: user, standing: .member))
                    try store.put(SpanRow(joined: 1), of: user, in: row.number)
                    try store.insert(1...2, into: .uncounted(user), of: row.number)
                    try store.put(DeletedRangeRow(1...1), of: user, in: row.number)
                    try store.insertMention(of: user, by: "carol", at: 2, in: row.number)
                    try store.put(.forever, of: user, in: row.number)
                    try store.put(BanRow(conversation: row.number, ban: Ban(id: user, by: "root", at: date)))
                    try store.insertParticipant(user, in: row.number)
                    try store.putBlock(of: "carol", by: user, isOn: true)
                    try store.putBlock(of: user, by: "carol", isOn: true)
                    try store.put(ReceiptRow(readSeq: 1, deliveredSeq: 2), of: user, in: row.number)
                    for (number, guest, host) in [
                        (row.number, user, "carol"), (91, user, "carol"), (92 + (user == "bob" ? 1 : 0), "carol", user),
                    ]
                        as [(Int64, UserID, UserID)]
                    {
                        try store.put(
                            InvitationRow(conversation: number, user: guest, by: host, at: date, until: nil))
                    }
                    try store.put(lastSeen: date, of: user)
                    try store.insert(KeyRow(.sample(user == "alice" ? 8 : 9, sender: user)), in: row.number)
                }
                try store.forget("alice", in: row.number)
                try store.forget("alice")
                try store.setSender("nobody", at: 2, in: row.number)
                try store.setSender("nobody", ofKey: MessageID(8), in: row.number)
                try store.setSender("nobody", ofKey: MessageID(7), in: row.number)
            }
            try store.read { store in
                for user in people {
                    let isThere = user == "bob"
                    try expectEqual(try store.member(user, of: row.number) != nil, isThere, "\(user)'s membership")
                    try expectEqual(try store.spans(of: user, in: row.number).isEmpty, !isThere, "\(user)'s spans")
                    try expectEqual(try store.numbers(.uncounted(user), of: row.number).isEmpty, !isThere)
                    try expectEqual(try store.deletedRanges(of: user, in: row.number).isEmpty, !isThere)
                    try expectEqual(try store.mentions(of: user, in: row.number, above: 0).isEmpty, !isThere)
                    try expectEqual(try store.mute(of: user, in: row.number) != nil, isThere)
                    try expectEqual(try store.ban(of: user, in: row.number) != nil, isThere)
                    try expectEqual(try store.participations(of: user, after: 0, limit: 9).isEmpty, !isThere)
                    try expectEqual(
                        try store.receipt(of: user, in: row.number),
                        isThere ? ReceiptRow(readSeq: 1, deliveredSeq: 2) : ReceiptRow())
                    try expectEqual(
                        try store.invitations(of: user, after: 0, limit: 9).map(\.conversation),
                        isThere ? [row.number, 91] : [])
                    try expectEqual(try store.lastSeen(of: user) != nil, isThere)
                    try expectEqual(try store.hasBlocked(user, "carol"), isThere)
                    try expectEqual(try store.hasBlocked("carol", user), isThere)
                }
                try expectEqual(try store.log(of: row.number).map(\.sender), ["alice", "nobody", "alice"])
                try expectEqual(try store.key(MessageID(7), in: row.number), nil)
                try expectEqual(try store.key(MessageID(8), in: row.number)?.sender, "nobody")
                try expectEqual(try store.key(MessageID(9), in: row.number)?.sender, "bob")
            }
        },
        Case("IDs are listed in order, invitations by inviter, and senders of mentions can be replaced") { store in
            let numbers = try (1...3).map { try store.makeConversation(.group(Identifier(known: "g\($0)"))).number }
            let names: [UserID] = ["b", "a", "B"]
            try store.transaction { store in
                for seq in [5, 1, 3] as [Seq] { try store.insert(KeyRow(.sample(seq)), in: numbers[0]) }
                try store.insert(KeyRow(.sample(2)), in: numbers[1])
                for number in numbers {
                    for name in names {
                        try store.put(InvitationRow(conversation: number, user: name, by: "alice", at: date))
                    }
                    try store.put(InvitationRow(conversation: number, user: "c", by: "bob", at: date))
                }
                try store.insertMention(of: "bob", by: "alice", at: 4, in: numbers[0])
                try store.insertMention(of: nil, by: "alice", at: 4, in: numbers[0])
                for user in ["bob", nil, "carol"] as [UserID?] {
                    try store.setSender("nobody", ofMentionOf: user, at: 4, in: numbers[0])
                    try store.setSender("nobody", ofMentionOf: user, at: 5, in: numbers[0])
                }
            }
            try store.read { store in
                let first = MessageID(1)
                try expectEqual(
                    try store.keys(in: numbers[0], after: MessageID(high: 0, low: 0), limit: 2).map(\.id),
                    [first, MessageID(3)])
                try expectEqual(
                    try store.keys(in: numbers[0], after: first, limit: 9).map(\.seq), [3, 5])
                var made: [InvitationRow] = []
                while case let page = try store.invitations(by: "alice", after: made.last, limit: 2), !page.isEmpty {
                    made += page
                }
                try expectEqual(made.map(\.conversation), numbers.flatMap { [$0, $0, $0] })
                try expectEqual(made.map(\.user), numbers.flatMap { _ in ["B", "a", "b"] as [UserID] })
                try expectEqual(try store.invitations(by: "b", after: nil, limit: 2), [])
                // Senders are excluded from their own mention of everyone; the others have the same one.
                try expectEqual(try store.mentions(of: "bob", in: numbers[0], above: 0), [4])
                try expectEqual(try store.mentions(of: "alice", in: numbers[0], above: 0), [4])
                try expectEqual(try store.mentions(of: "nobody", in: numbers[0], above: 0), [])
                try expectEqual(try store.places(mentioning: "carol", in: numbers[0], above: 0, limit: 9), [])
            }
        },
        Case("A failed transaction does not change bans, reports, erasures, participants and senders") { store in
            let row = try store.makeConversation(.group("a"), messages: 1)
            struct RollbackError: Error {}
            try expectError("the transaction") {
                try store.transaction { store in
                    try store.put(BanRow(conversation: 0, ban: Ban(id: "bob", by: "root", at: date)))
                    var report = ReportRow(
                        conversation: row.number, message: .sample(1), reporter: "bob", reason: .spam, text: nil,
                        at: date)
                    try store.put(&report)
                    var erasure = ErasureRow(
                        id: UUID(), user: "bob", messages: .keep, replacement: "x", createdAt: date)
                    try store.put(&erasure)
                    try store.insertParticipant("bob", in: row.number)
                    try store.setSender("bob", at: 1, in: row.number)
                    throw RollbackError()
                }
            }
            try store.read { store in
                try expectEqual(try store.ban(of: "bob", in: 0), nil)
                try expectEqual(try store.reports(isOpen: nil, below: .max, limit: 9), [])
                try expectEqual(try store.openErasures(limit: 9), [])
                try expectEqual(try store.participations(of: "bob", after: 0, limit: 9), [])
                try expectEqual(try store.message(at: 1, in: row.number)?.sender, "alice")
            }
        },
    ]
}
