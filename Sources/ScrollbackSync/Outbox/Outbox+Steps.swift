package import Foundation
import ScrollbackModel

extension Outbox {
    /// The effects of an event so far.
    struct Steps {
        var touched: [MessageID] = []
        var removed: [MessageID] = []
        var upload: [MessageID] = []
        var stopUpload: [MessageID] = []
        var transmit: [MessageID] = []

        mutating func touch(_ id: MessageID) {
            if !touched.contains(id) { touched.append(id) }
        }
    }

    func effects(of steps: Steps) -> Effects {
        var effects = Effects()
        effects.changed = steps.touched.compactMap { self[$0] }
        effects.removed = steps.removed
        effects.upload = steps.upload
        effects.stopUpload = steps.stopUpload
        effects.transmit = steps.transmit
        effects.wakeAt = wakeAt
        return effects
    }

    /// The time when the first waiting item can continue.
    ///
    /// Queues wait for the delay of their last error, uploads for their retry, and messages for the send rate.
    package var wakeAt: Date? {
        guard isConnected else { return nil }
        let heads = queues.values.compactMap { queue in queue.first { !$0.isFailed } }
        let times = (heads + awaitingUpload.compactMap { self[$0] }).compactMap { item in
            if case .waiting(let until) = item.state { until } else { nil }
        }
        let turn = isThrottled ? pace.flatMap { pace in pace.filledAt.map { $0 + pace.wait } } : nil
        return (times + (turn.map { [$0] } ?? [])).min()
    }

    mutating func update(_ id: MessageID, _ steps: inout Steps, _ change: (inout OutboxItem) -> Void) {
        guard let conversation = conversations[id],
            let index = queues[conversation]?.firstIndex(where: { $0.id == id })
        else { return }
        change(&queues[conversation, default: []][index])
        steps.touch(id)
    }

    mutating func remove(_ id: MessageID, _ steps: inout Steps) {
        guard let conversation = conversations.removeValue(forKey: id) else { return }
        queues[conversation]?.removeAll { $0.id == id }
        awaitingUpload.remove(id)
        uploadsBeforeChange.remove(id)
        reuploadedAt[id] = nil
        if queues[conversation]?.isEmpty == true { queues[conversation] = nil }
        steps.removed.append(id)
    }

    /// Continues a queue after an event.
    mutating func pump(_ conversation: ConversationID, _ now: Date, _ steps: inout Steps) {
        // If the send rate delays messages, they are sent in the order of all conversations together.
        if isThrottled { return pumpAll(now, &steps) }
        pumpQueue(conversation, now, &steps)
        pumpUploads(now, &steps)
    }

    /// Starts uploads for the items that were queued first.
    mutating func pumpUploads(_ now: Date, _ steps: inout Steps) {
        guard isConnected, !awaitingUpload.isEmpty else { return }
        let waiting = awaitingUpload.compactMap { self[$0] }.sorted { $0.ordinal < $1.ordinal }
        var running = waiting.count { $0.state == .uploading }
        for item in waiting where running < Self.maximumUploads {
            switch item.state {
            case .queued: break
            case .waiting(let until) where until <= now: break
            default: continue
            }
            update(item.id, &steps) {
                $0.state = .uploading
                $0.attempts += 1
            }
            uploadsBeforeChange.remove(item.id)
            steps.upload.append(item.id)
            running += 1
        }
    }

    /// Transmits the first item of a queue if it is due and nothing in the queue is in flight.
    mutating func pumpQueue(_ conversation: ConversationID, _ now: Date, _ steps: inout Steps) {
        guard isConnected else { return }
        while let queue = queues[conversation], !queue.contains(where: { $0.state == .sending }),
            let head = queue.first(where: { !$0.isFailed }), !head.needsUpload
        {
            if case .waiting(let until) = head.state, now < until { return }
            guard now.timeIntervalSince(head.createdAt) <= Self.lifetime else {
                update(head.id, &steps) { $0.state = .failed(.tooOldToSend) }
                continue
            }
            if head.isMessage, pace?.take(now: now) == false {
                isThrottled = true
                return
            }
            update(head.id, &steps) {
                $0.state = .sending
                $0.attempts += 1
                $0.wasTransmitted = true
            }
            steps.transmit.append(head.id)
        }
    }
}

extension ChatError {
    fileprivate static let tooOldToSend = ChatError(
        .expired, "The message was queued more than 180 days ago; send it as a new message.")
}
