import Foundation
import ScrollbackModel

extension MemoryRows {
    func scheduled(of user: UserID, after id: MessageID?, limit: Int) -> [ScheduledRow] {
        let all = (scheduled[user] ?? [:]).values.filter { row in id.map { $0 < row.id } ?? true }
        return Array(all.sorted { $0.id < $1.id }.prefix(limit))
    }

    func scheduled(_ id: MessageID, of user: UserID) -> ScheduledRow? { scheduled[user]?[id] }

    func scheduledCount(of user: UserID) -> Int { scheduled[user]?.count ?? 0 }

    private var waiting: [ScheduledRow] {
        scheduled.values.flatMap(\.values).filter { $0.failure == nil }.sorted {
            ($0.dueAt, $0.user, $0.id) < ($1.dueAt, $1.user, $1.id)
        }
    }

    func scheduled(dueBy time: Date, limit: Int) -> [ScheduledRow] {
        Array(waiting.prefix { $0.dueAt <= time }.prefix(limit))
    }

    func nextScheduled() -> Date? { waiting.first?.dueAt }

    func retryDigest(of id: MessageID, of user: UserID) -> Int64? {
        cancelled[user]?.last { $0.id == id }?.digest
    }

    func insertRetryDigest(_ id: MessageID, of user: UserID, digest: Int64, at time: Date, keeping limit: Int) {
        var all = (cancelled[user] ?? []).filter { $0.id != id }
        all.append(CancelledMessage(id: id, digest: digest, at: time))
        change(\.cancelled[user], all.sorted { ($0.at, $0.id) < ($1.at, $1.id) }.suffix(limit))
    }

    func put(_ row: ScheduledRow) {
        var all = scheduled[row.user] ?? [:]
        all[row.id] = row
        change(\.scheduled[row.user], all)
    }

    func dropScheduled(_ id: MessageID, of user: UserID) {
        change(\.scheduled[user], scheduled[user]?.filter { $0.key != id })
    }

    func dropScheduled(in conversation: ConversationID) {
        for (user, rows) in scheduled {
            change(\.scheduled[user], rows.filter { $0.value.conversation != conversation })
        }
    }
}

/// The digest of a cancelled message or of a request to schedule a message, by which a retry is recognized.
struct CancelledMessage {
    var id: MessageID
    var digest: Int64
    var at: Date
}
