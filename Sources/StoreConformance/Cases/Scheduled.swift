import Foundation
import ScrollbackEngine
import ScrollbackModel

extension StoreConformance {
    static let scheduled: [Case] = [
        Case("Scheduled messages are replaced, listed, found by their time, and deleted with the user") { store in
            func row(_ user: UserID, _ number: UInt64, at time: Double, _ id: ConversationID = .group("ä"))
                -> ScheduledRow
            {
                ScheduledRow(
                    user: user, id: MessageID(high: 1, low: number), conversation: id,
                    sendAt: Date(timeIntervalSinceReferenceDate: time), body: RawJSON(known: #"{"n":\#(number)}"#))
            }
            func read<Value>(_ body: (any StoreReader) throws -> Value) throws -> Value { try store.read(body) }
            func next() throws -> Date? { try read { try $0.nextScheduled() } }
            func due(_ time: Double, limit: Int = 9) throws -> [ScheduledRow] {
                try read { try $0.scheduled(dueBy: Date(timeIntervalSinceReferenceDate: time), limit: limit) }
            }
            try expectEqual(try next(), nil)
            let (first, second, third) = (
                row("alice", 2, at: 20), row("alice", 1, at: 10.5), row("bob", 1, at: 15, .direct("alice"))
            )
            try store.transaction { store in
                for row in [first, second, third] { try store.put(row) }
            }
            try expectEqual(try read { try $0.scheduled(of: "alice", after: nil, limit: 9) }, [second, first])
            try expectEqual(try read { try $0.scheduled(of: "alice", after: second.id, limit: 9) }, [first])
            try expectEqual(try read { try $0.scheduled(of: "alice", after: nil, limit: 1) }, [second])
            try expectEqual(try read { try $0.scheduledCount(of: "alice") }, 2)
            try expectEqual(try due(10), [])
            try expectEqual(try due(15), [second, third])
            try expectEqual(try due(30, limit: 2), [second, third])
            try expectEqual(try next(), second.sendAt)
            var delayed = second
            delayed.dueAt = Date(timeIntervalSinceReferenceDate: 17)
            try store.transaction { try $0.put(delayed) }
            try expectEqual(try due(16), [third])
            try expectEqual(try due(17), [third, delayed])
            try expectEqual(try next(), third.sendAt)
            var failed = second
            failed.failure = "muted"
            try store.transaction { try $0.put(failed) }
            try expectEqual(try due(30), [third, first])
            try expectEqual(try next(), third.sendAt)
            func found(_ id: MessageID) throws -> ScheduledRow? { try read { try $0.scheduled(id, of: "alice") } }
            try expectEqual(try found(second.id), failed)
            try store.transaction { try $0.dropScheduled(first.id, of: "alice") }
            try expectEqual(try found(first.id), nil)
            try store.transaction { try $0.dropScheduled(in: .direct("alice")) }
            try expectEqual(try read { try $0.scheduledCount(of: "bob") }, 0)
            try store.transaction { try $0.forget("alice") }
            try expectEqual(try found(second.id), nil)
        },
        Case("The newest digests of scheduled messages are kept until the user is erased") { store in
            func id(_ number: UInt64) -> MessageID { MessageID(high: 1, low: number) }
            func digests(of user: UserID = "alice") throws -> [Int64?] {
                try store.read { store in try (1...4).map { try store.retryDigest(of: id($0), of: user) } }
            }
            func cancel(_ number: UInt64, _ digest: Int64, at time: Double, by user: UserID = "alice") throws {
                try store.transaction {
                    try $0.insertRetryDigest(
                        id(number), of: user, digest: digest, at: Date(timeIntervalSinceReferenceDate: time),
                        keeping: 2)
                }
            }
            try expectEqual(try digests(), [nil, nil, nil, nil])
            try cancel(3, .max, at: 1)
            try cancel(1, .min, at: 2)
            try cancel(3, 30, at: 3)
            try expectEqual(try digests(), [.min, nil, 30, nil])
            try cancel(2, 20, at: 1, by: "bob")
            try cancel(2, 2, at: 4)
            try expectEqual(try digests(), [nil, 2, 30, nil])
            // Of the same moment, the highest IDs are kept.
            try cancel(4, 4, at: 4)
            try expectEqual(try digests(), [nil, 2, nil, 4])
            try store.transaction { try $0.forget("alice") }
            try expectEqual(try digests(), [nil, nil, nil, nil])
            try expectEqual(try digests(of: "bob"), [nil, 20, nil, nil])
        },
    ]
}
