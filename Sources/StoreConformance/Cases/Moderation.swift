import Foundation
import ScrollbackEngine
import ScrollbackModel

extension StoreConformance {
    static let moderation: [Case] = [
        Case("Blocks are found in both directions by the bytes of the user IDs") { store in
            try store.transaction { store in
                for name in UnusualNames.all {
                    try store.putBlock(of: UserID(known: name), by: "alice", isOn: true)
                    try store.putBlock(of: UserID(known: name), by: "alice", isOn: true)
                    try store.putBlock(of: "mallory", by: UserID(known: name), isOn: true)
                }
            }
            let names = UnusualNames.all.map { UserID(known: $0) }.sorted()
            try store.read { store in
                try expectEqual(try store.blocked(by: "alice", after: nil, limit: 1000), names)
                try expectEqual(try store.blockers(of: "mallory", limit: 1000), names)
                try expectEqual(try store.blockers(of: "mallory", limit: 2), Array(names.prefix(2)))
                try expectEqual(try store.blocked(by: "mallory", after: nil, limit: 10), [])
                try expectEqual(try store.blocked(by: "alice", after: names.last, limit: 10), [])
                var listed: [UserID] = []
                while case let page = try store.blocked(by: "alice", after: listed.last, limit: 3), !page.isEmpty {
                    listed += page
                }
                try expectEqual(listed, names)
                for name in names { try expect(try store.hasBlocked("alice", name), "alice has not blocked \(name)") }
                try expect(try !store.hasBlocked(names[0], "alice"), "a block applies in the other direction")
            }
            try store.transaction { try $0.putBlock(of: names[0], by: "alice", isOn: false) }
            try store.read { store in
                try expect(try !store.hasBlocked("alice", names[0]), "a removed block remains")
                try expectEqual(try store.blockers(of: names[0], limit: 10), [])
            }
        },
        Case("A mute keeps its values, can be replaced, and is erased with its conversation") { store in
            let conversation = try store.makeConversation(.group("a")).number
            let date = Date(timeIntervalSince1970: 1_795_255_260.123)
            for mute: Mute? in [.until(date), .forever, nil, .forever] {
                try store.transaction { try $0.put(mute, of: "bob", in: conversation) }
                try store.read { store in
                    try expectEqual(try store.mute(of: "bob", in: conversation), mute)
                    try expectEqual(try store.mute(of: "Bob", in: conversation), nil)
                    try expectEqual(try store.mute(of: "bob", in: conversation + 1), nil)
                }
            }
            try store.transaction { try $0.erase(conversation) }
            try store.read { try expectEqual(try $0.mute(of: "bob", in: conversation), nil) }
        },
        Case("The frozen state, capacity, mutes and blocks of a conversation keep their values") { store in
            var row = try store.makeConversation(.room("a"))
            row.isFrozen = true
            row.capacity = 5
            row.hasMutes = true
            for blocks: DirectBlocks in [.byFirst, .bySecond, [.byFirst, .bySecond], []] {
                row.blocks = blocks
                try store.transaction { [row] in
                    var row = row
                    try $0.put(&row)
                }
                try store.read { [row] in try expectEqual(try $0.conversation(.room("a")), row) }
            }
        },
        Case("Deliveries are queued in order for each webhook, and their numbers are never reused") { store in
            let body = RawJSON(known: #"{"a" : 1}"#)
            func row(_ conversation: Int64, to webhook: String = "a") -> DeliveryRow {
                DeliveryRow("message", to: webhook, of: conversation, seq: 7, body: body)
            }
            try store.transaction { store in
                for index in 0..<6 { try store.insertDelivery(row(Int64(index % 2) + 1)) }
                try store.insertDelivery(row(1, to: "b"))
                try store.insertDelivery(row(DeliveryRow.noConversation, to: "b"))
            }
            let (first, second) = try store.read { store in
                func conversations(_ webhook: String, after: Int64, limit: Int = 10) throws -> [Int64] {
                    try store.conversationsWithDeliveries(to: webhook, after: after, limit: limit)
                }
                try expectEqual(try conversations("a", after: 0), [1, 2])
                try expectEqual(try conversations("a", after: 1), [2])
                try expectEqual(try conversations("a", after: 0, limit: 1), [1])
                try expectEqual(try conversations("b", after: 0), [1, DeliveryRow.noConversation])
                try expectEqual(try conversations("c", after: 0), [])
                try expectEqual(try store.deliveryCount(), 8)
                return (
                    try store.deliveries(to: "a", of: 1, limit: 10), try store.deliveries(to: "a", of: 2, limit: 2)
                )
            }
            try expectEqual(first.map(\.body), [body, body, body])
            try expectEqual(first.map(\.seq), [7, 7, 7])
            try expectEqual(second.count, 2)
            let numbers = first.map(\.number)
            try expectEqual(numbers, Set(numbers).sorted())
            let removed = DeliveryAttempt(at: Date(timeIntervalSince1970: 1), keeps: false)
            try store.transaction { store in
                try expectEqual(try store.record(removed, to: "a", of: 1, through: numbers[1]), 2)
                try expectEqual(try store.record(removed, to: "a", of: 1, through: numbers[1]), 0)
                try expectEqual(try store.record(removed, to: "a", of: 2, through: .max), 3)
                try store.insertDelivery(row(2))
            }
            try store.read { store in
                try expectEqual(try store.deliveries(to: "a", of: 1, limit: 10).map(\.number), [numbers[2]])
                let new = try store.deliveries(to: "a", of: 2, limit: 10).map(\.number)
                try expect(new.count == 1 && new[0] > 8, "a number was reused: \(new)")
                try expectEqual(try store.deliveryLog(to: "a", below: .max, isPending: nil, limit: 9).count, 2)
            }
            func drop(exceptTo webhooks: Set<String>, limit: Int) throws -> DroppedDeliveries {
                try store.transaction { try $0.dropDeliveries(exceptTo: webhooks, limit: limit) }
            }
            let delivered = DeliveryAttempt(at: Date(timeIntervalSince1970: 1))
            try store.transaction { _ = try $0.record(delivered, to: "a", of: 1, through: .max) }
            try expectEqual(try drop(exceptTo: ["b"], limit: 1), DroppedDeliveries(count: 1, pending: 0))
            try expectEqual(try drop(exceptTo: ["b"], limit: 9), DroppedDeliveries(count: 1, pending: 1))
            try expectEqual(try drop(exceptTo: ["b"], limit: 9), DroppedDeliveries())
            try store.read { try expectEqual(try $0.deliveryCount(), 2) }
            try expectEqual(try drop(exceptTo: [], limit: 9), DroppedDeliveries(count: 2, pending: 2))
            try store.read { try expectEqual(try $0.deliveryCount(), 0) }
        },
        Case("A delivery that repeats another one is not repeated itself") { store in
            let delivered = DeliveryAttempt(at: Date(timeIntervalSince1970: 10))
            var row = DeliveryRow("message", to: "a", of: 1, seq: 1, body: RawJSON(known: "{}"))
            func deliver() throws -> Int64 {
                try store.transaction { store in
                    try store.insertDelivery(row)
                    let number = try store.deliveries(to: "a", of: 1, limit: 9).map(\.number).max() ?? 0
                    try expectEqual(try store.record(delivered, to: "a", of: 1, through: number), 1)
                    return number
                }
            }
            let first = try deliver()
            row.original = first
            _ = try deliver()
            let found = try store.read { try $0.delivered(to: "a", 0...Int64.max, limit: 9) }
            try expectEqual(found.map(\.number), [first])
        },
        Case("Delivered events stay in the log until they are dropped") { store in
            let body = RawJSON(known: "{}")
            func date(_ seconds: Double) -> Date { Date(timeIntervalSince1970: seconds) }
            try store.transaction { store in
                for seq in 1...4 {
                    try store.insertDelivery(DeliveryRow("message", to: "a", of: 1, seq: Seq(seq), body: body))
                }
            }
            let numbers = try store.read { try $0.deliveries(to: "a", of: 1, limit: 9) }.map(\.number)
            try store.transaction { store in
                let failed = DeliveryAttempt(at: date(10), error: "status 500")
                try expectEqual(try store.record(failed, to: "a", of: 1, through: numbers[2]), 3)
                try expectEqual(try store.record(.init(at: date(20)), to: "a", of: 1, through: numbers[1]), 2)
                var replay = DeliveryRow("message", to: "a", of: 1, seq: 1, body: body)
                replay.original = numbers[0]
                try store.insertDelivery(replay)
            }
            try store.read { store in
                try expectEqual(try store.deliveryCount(), 3)
                let log = try store.deliveryLog(to: "a", below: .max, isPending: nil, limit: 9)
                try expectEqual(log.map(\.number), log.map(\.number).sorted(by: >))
                try expectEqual(log.map(\.isDelivered), [false, false, false, true, true])
                try expectEqual(log.map(\.attempts), [0, 0, 1, 2, 2])
                try expectEqual(log.map(\.attemptedAt), [nil, nil, date(10), date(20), date(20)])
                try expectEqual(log.map(\.error), [nil, nil, "status 500", "status 500", "status 500"])
                try expectEqual(log.map(\.original), [numbers[0], nil, nil, nil, nil])
                func entries(_ isPending: Bool, below: Int64 = .max) throws -> [Int64] {
                    try store.deliveryLog(to: "a", below: below, isPending: isPending, limit: 2).map(\.number)
                }
                try expectEqual(try entries(false), [numbers[1], numbers[0]])
                try expectEqual(try entries(false, below: numbers[1]), [numbers[0]])
                try expectEqual(try entries(true).last, numbers[3])
                func delivered(_ range: ClosedRange<Int64>, limit: Int = 9) throws -> [Int64] {
                    try store.delivered(to: "a", range, limit: limit).map(\.number)
                }
                try expectEqual(try delivered(0...Int64.max), [numbers[0], numbers[1]])
                try expectEqual(try delivered(0...Int64.max, limit: 1), [numbers[0]])
                try expectEqual(try delivered(numbers[1]...numbers[3]), [numbers[1]])
                try expectEqual(try store.delivered(to: "b", 0...Int64.max, limit: 9), [])
            }
            try store.transaction { store in
                // The content of a message is dropped whether it was delivered or not.
                let first = try store.dropDeliveries(of: 1...1, in: 1, limit: 1)
                let second = try store.dropDeliveries(of: 1...1, in: 1, limit: 9)
                try expectEqual([first.count, second.count, first.pending + second.pending], [1, 1, 1])
                try expectEqual(try store.dropDeliveries(of: 2...2, in: 2, limit: 9), DroppedDeliveries())
                try expectEqual(try store.dropDelivered(before: date(20), exceeding: 100, limit: 9), 0)
            }
            try store.read { store in
                let log = try store.deliveryLog(to: "a", below: .max, isPending: nil, limit: 9)
                try expectEqual(log.map(\.seq), [4, 3, 2])
            }
            try store.transaction { store in
                _ = try store.record(.init(at: date(30)), to: "a", of: 1, through: .max)
                try expectEqual(try store.dropDelivered(before: date(21), exceeding: 100, limit: 9), 1)
                try expectEqual(try store.dropDelivered(before: date(21), exceeding: 2, limit: 9), 1)
                try expectEqual(try store.dropDelivered(before: date(31), exceeding: 2, limit: 1), 1)
                try expectEqual(try store.dropDelivered(before: date(31), exceeding: 2, limit: 9), 0)
            }
            try store.read { store in
                try expectEqual(try store.deliveryLog(to: "a", below: .max, isPending: nil, limit: 9), [])
            }
        },
        Case("The audit log is found by actor, user, conversation and action, newest first") { store in
            func row(_ seconds: Double, _ actor: UserID, _ action: AuditRow.Action, _ user: UserID?) -> AuditRow {
                AuditRow(
                    at: Date(timeIntervalSince1970: seconds), actor: actor,
                    token: TokenSource(key: "k", issuedAt: Date(timeIntervalSince1970: 1)), action: action.rawValue,
                    user: user, conversation: user == nil ? 0 : 7, detail: user == nil ? nil : "x")
            }
            let rows = [
                row(10, "root", .changeSettings, nil), row(20, "root", .ban, "bob"), row(30, "alice", .mute, "bob"),
                row(40, "root", .ban, "carol"),
            ]
            try store.transaction { store in for row in rows { try store.insert(row) } }
            func found(_ filter: AuditFilter, below: Int64 = .max, limit: Int = 9) throws -> [AuditRow] {
                try store.read { try $0.audit(filter, below: below, limit: limit) }
            }
            let all = try found(AuditFilter())
            try expectEqual(all.map(\.number), all.map(\.number).sorted(by: >))
            try expectEqual(all.map { Self.unnumbered($0) }, rows.reversed())
            try expectEqual(try found(AuditFilter(), limit: 2), Array(all.prefix(2)))
            try expectEqual(try found(AuditFilter(), below: all[1].number), Array(all.suffix(2)))
            try expectEqual(try found(AuditFilter(actor: "root")), [all[0], all[2], all[3]])
            try expectEqual(try found(AuditFilter(user: "bob")), [all[1], all[2]])
            try expectEqual(try found(AuditFilter(conversation: 7), limit: 1), [all[0]])
            try expectEqual(try found(AuditFilter(action: .ban)), [all[0], all[2]])
            try expectEqual(try found(AuditFilter(actor: "root", user: "bob", conversation: 7, action: .ban)), [all[2]])
            try expectEqual(try found(AuditFilter(actor: "bob")), [])
            try store.transaction { try $0.renameAuditUser("bob", to: "deleted-1") }
            try expectEqual(try found(AuditFilter(user: "bob")), [])
            try expectEqual(try found(AuditFilter(user: "deleted-1")).count, 2)
            let end = Date(timeIntervalSince1970: 40)
            try store.transaction { store in
                try expectEqual(try store.dropAudit(before: end, limit: 1), 1)
                try expectEqual(try store.dropAudit(before: end, limit: 9), 2)
                try expectEqual(try store.dropAudit(before: end, limit: 9), 0)
            }
            try expectEqual(try found(AuditFilter()), [all[0]])
        },
        Case("A failed transaction does not change blocks, mutes and deliveries") { store in
            let conversation = try store.makeConversation(.group("a")).number
            struct RollbackError: Error {}
            try expectError("the transaction") {
                try store.transaction { store in
                    try store.putBlock(of: "bob", by: "alice", isOn: true)
                    try store.put(.forever, of: "bob", in: conversation)
                    try store.insertDelivery(
                        DeliveryRow("message", to: "a", of: conversation, body: RawJSON(known: "{}")))
                    throw RollbackError()
                }
            }
            try store.read { store in
                try expect(try !store.hasBlocked("alice", "bob"), "the block remains")
                try expectEqual(try store.mute(of: "bob", in: conversation), nil)
                try expectEqual(try store.deliveryCount(), 0)
            }
        },
    ]

    private static func unnumbered(_ row: AuditRow) -> AuditRow {
        var row = row
        row.number = 0
        return row
    }
}
