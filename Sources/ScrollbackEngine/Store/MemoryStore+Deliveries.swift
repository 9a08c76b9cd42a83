import Foundation
import ScrollbackModel

extension MemoryRows {
    // MARK: Reading

    func conversationsWithDeliveries(to webhook: String, after conversation: Int64, limit: Int) -> [Int64] {
        deliveries.conversations(to: webhook, after: conversation, limit: limit)
    }
    func deliveries(to webhook: String, of conversation: Int64, limit: Int) -> [DeliveryRow] {
        deliveries.pending(to: webhook, of: conversation, limit: limit)
    }
    func deliveryCount() -> Int64 { deliveries.pendingCount }
    func deliveryLog(to webhook: String, below number: Int64, isPending: Bool?, limit: Int) -> [DeliveryRow] {
        deliveries.log(to: webhook, below: number, isPending: isPending, limit: limit)
    }
    func delivered(to webhook: String, _ numbers: ClosedRange<Int64>, limit: Int) -> [DeliveryRow] {
        deliveries.delivered(to: webhook, numbers, limit: limit)
    }

    // MARK: Writing

    private func changeDeliveries<Answer>(_ body: (inout MemoryDeliveries) -> Answer) -> Answer {
        let old = deliveries
        undo.append { [unowned self] in deliveries = old }
        return body(&deliveries)
    }

    func insertDelivery(_ row: DeliveryRow) { changeDeliveries { $0.insert(row) } }
    func record(
        _ attempt: DeliveryAttempt, to webhook: String, of conversation: Int64, through number: Int64
    ) -> Int {
        changeDeliveries { $0.record(attempt, to: webhook, of: conversation, through: number) }
    }
    func dropDeliveries(exceptTo webhooks: Set<String>, limit: Int) -> DroppedDeliveries {
        changeDeliveries { $0.drop(exceptTo: webhooks, limit: limit) }
    }
    func dropDeliveries(of places: SeqRange, in conversation: Int64, limit: Int) -> DroppedDeliveries {
        changeDeliveries { $0.drop(of: places, in: conversation, limit: limit) }
    }
    func dropDelivered(before time: Date, exceeding count: Int64, limit: Int) -> Int {
        changeDeliveries { $0.dropDelivered(before: time, exceeding: count, limit: limit) }
    }
}
