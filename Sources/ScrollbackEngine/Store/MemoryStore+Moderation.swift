import Foundation
import ScrollbackModel

extension MemoryRows {
    // MARK: Reading

    func hasBlocked(_ user: UserID, _ other: UserID) -> Bool { moderation.hasBlocked(user, other) }
    func blocked(by user: UserID, after: UserID?, limit: Int) -> [UserID] {
        moderation.blocked(by: user, after: after, limit: limit)
    }
    func blockers(of user: UserID, limit: Int) -> [UserID] { moderation.blockers(of: user, limit: limit) }
    func mute(of user: UserID, in conversation: Int64) -> Mute? { moderation.mute(of: user, in: conversation) }
    func conversationsWithDeliveries(to webhook: String, after conversation: Int64, limit: Int) -> [Int64] {
        moderation.deliveries.conversations(to: webhook, after: conversation, limit: limit)
    }
    func deliveries(to webhook: String, of conversation: Int64, limit: Int) -> [DeliveryRow] {
        moderation.deliveries.pending(to: webhook, of: conversation, limit: limit)
    }
    func deliveryCount() -> Int64 { moderation.deliveries.pendingCount }
    func deliveryLog(to webhook: String, below number: Int64, isPending: Bool?, limit: Int) -> [DeliveryRow] {
        moderation.deliveries.log(to: webhook, below: number, isPending: isPending, limit: limit)
    }
    func delivered(to webhook: String, _ numbers: ClosedRange<Int64>, limit: Int) -> [DeliveryRow] {
        moderation.deliveries.delivered(to: webhook, numbers, limit: limit)
    }

    // MARK: Writing

    func changeModeration<Answer>(_ body: (inout MemoryModeration) -> Answer) -> Answer {
        let old = moderation
        undo.append { [unowned self] in moderation = old }
        return body(&moderation)
    }

    func putBlock(of other: UserID, by user: UserID, isOn: Bool) {
        changeModeration { $0.putBlock(of: other, by: user, isOn: isOn) }
    }
    func put(_ mute: Mute?, of user: UserID, in conversation: Int64) {
        changeModeration { $0.put(mute, of: user, in: conversation) }
    }
    func insertDelivery(_ row: DeliveryRow) { changeModeration { $0.deliveries.insert(row) } }
    func record(
        _ attempt: DeliveryAttempt, to webhook: String, of conversation: Int64, through number: Int64
    ) -> Int {
        changeModeration { $0.deliveries.record(attempt, to: webhook, of: conversation, through: number) }
    }
    func dropDeliveries(exceptTo webhooks: Set<String>, limit: Int) -> DroppedDeliveries {
        changeModeration { $0.deliveries.drop(exceptTo: webhooks, limit: limit) }
    }
    func dropDeliveries(of places: SeqRange, in conversation: Int64, limit: Int) -> DroppedDeliveries {
        changeModeration { $0.deliveries.drop(of: places, in: conversation, limit: limit) }
    }
    func dropDelivered(before time: Date, exceeding count: Int64, limit: Int) -> Int {
        changeModeration { $0.deliveries.dropDelivered(before: time, exceeding: count, limit: limit) }
    }
}
