package import Foundation
import ScrollbackModel

extension Outbox {
    /// What an event has done so far.
    struct Steps {
        var touched: [MessageID] = []
        var removed: [MessageID] = []
        var transmit: [MessageID] = []

        mutating func touch(_ id: MessageID) {
            if !touched.contains(id) { touched.append(id) }
        }
    }

    func effects(of steps: Steps) -> Effects {
        var effects = Effects()
        effects.changed = steps.touched.compactMap { self[$0] }
        effects.removed = steps.removed
        effects.transmit = steps.transmit
        effects.wakeAt = wakeAt
        return effects
    }

    /// When the first of the lanes that wait may go on.
    package var wakeAt: Date? {
        guard isConnected else { return nil }
        return lanes.values.compactMap { lane in
            guard case .waiting(let until)? = lane.first(where: { !$0.isFailed })?.state else { return nil }
            return until
        }.min()
    }

    mutating func update(_ id: MessageID, _ steps: inout Steps, _ change: (inout OutboxItem) -> Void) {
        guard let conversation = conversations[id],
            let index = lanes[conversation]?.firstIndex(where: { $0.id == id })
        else { return }
        change(&lanes[conversation, default: []][index])
        steps.touch(id)
    }

    mutating func remove(_ id: MessageID, _ steps: inout Steps) {
        guard let conversation = conversations.removeValue(forKey: id) else { return }
        lanes[conversation]?.removeAll { $0.id == id }
        if lanes[conversation]?.isEmpty == true { lanes[conversation] = nil }
        steps.removed.append(id)
    }

    /// Transmits the first message of a lane, if it is its turn and nothing is in flight there.
    mutating func pump(_ conversation: ConversationID, _ now: Date, _ steps: inout Steps) {
        guard isConnected else { return }
        while let lane = lanes[conversation], !lane.contains(where: { $0.state == .sending }),
            let head = lane.first(where: { !$0.isFailed })
        {
            if case .waiting(let until) = head.state, now < until { return }
            guard now.timeIntervalSince(head.createdAt) <= Self.lifetime else {
                update(head.id, &steps) { $0.state = .failed(.tooOldToSend) }
                continue
            }
            update(head.id, &steps) {
                $0.state = .sending
                $0.attempts += 1
                $0.isFrozen = true
            }
            steps.transmit.append(head.id)
        }
    }
}

extension ChatError {
    fileprivate static let tooOldToSend = ChatError(
        .expired, "the message was queued more than 180 days ago: send it as a new one")
}
