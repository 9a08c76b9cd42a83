import Foundation
import ScrollbackModel

/// The webhook deliveries of a memory store.
struct MemoryDeliveries {
    /// The deliveries in the order of their numbers.
    private var rows: [DeliveryRow] = []
    private var last: Int64 = 0

    private func pending(to webhook: String) -> some Sequence<DeliveryRow> {
        rows.lazy.filter { $0.webhook == webhook && !$0.isDelivered }
    }

    func conversations(to webhook: String, after conversation: Int64, limit: Int) -> [Int64] {
        Array(Set(pending(to: webhook).map(\.conversation)).filter { $0 > conversation }.sorted().prefix(limit))
    }

    func pending(to webhook: String, of conversation: Int64, limit: Int) -> [DeliveryRow] {
        Array(pending(to: webhook).filter { $0.conversation == conversation }.prefix(limit))
    }

    var pendingCount: Int64 { Int64(rows.count { !$0.isDelivered }) }

    func log(to webhook: String, below number: Int64, isPending: Bool?, limit: Int) -> [DeliveryRow] {
        let found = rows.reversed().filter { row in
            row.webhook == webhook && row.number < number && (isPending.map { $0 != row.isDelivered } ?? true)
        }
        return Array(found.prefix(limit))
    }

    func delivered(to webhook: String, _ numbers: ClosedRange<Int64>, limit: Int) -> [DeliveryRow] {
        let found = rows.filter { row in
            row.webhook == webhook && row.isDelivered && row.original == nil && numbers.contains(row.number)
        }
        return Array(found.prefix(limit))
    }

    mutating func insert(_ row: DeliveryRow) {
        last += 1
        var row = row
        row.number = last
        rows.append(row)
    }

    mutating func record(
        _ attempt: DeliveryAttempt, to webhook: String, of conversation: Int64, through number: Int64
    ) -> Int {
        var count = 0
        for index in rows.indices {
            let row = rows[index]
            guard row.webhook == webhook, row.conversation == conversation, row.number <= number, !row.isDelivered
            else { continue }
            count += 1
            rows[index].attempts += 1
            rows[index].attemptedAt = attempt.at
            rows[index].error = attempt.error ?? row.error
            rows[index].isDelivered = attempt.error == nil
        }
        if !attempt.keeps {
            rows.removeAll {
                $0.webhook == webhook && $0.conversation == conversation && $0.number <= number && $0.isDelivered
            }
        }
        return count
    }

    mutating func drop(exceptTo webhooks: Set<String>, limit: Int) -> DroppedDeliveries {
        drop(limit: limit) { !webhooks.contains($0.webhook) }
    }

    mutating func drop(of places: SeqRange, in conversation: Int64, limit: Int) -> DroppedDeliveries {
        drop(limit: limit) { row in
            row.conversation == conversation && (row.seq.map { places.contains($0) } ?? false)
        }
    }

    mutating func dropDelivered(before time: Date, exceeding count: Int64, limit: Int) -> Int {
        let newest = last - count
        return drop(limit: limit) { row in
            row.isDelivered && (row.number <= newest || row.attemptedAt.map { $0 < time } ?? false)
        }.count
    }

    private mutating func drop(limit: Int, where isDue: (DeliveryRow) -> Bool) -> DroppedDeliveries {
        let due = rows.filter(isDue).prefix(limit)
        let numbers = Set(due.map(\.number))
        rows.removeAll { numbers.contains($0.number) }
        return DroppedDeliveries(count: due.count, pending: due.count { !$0.isDelivered })
    }
}
