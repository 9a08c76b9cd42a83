import Foundation
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// Manages subscriptions to rooms and community channels, with retries for full rooms.
extension Driver {
    func subscribe(_ ids: [ConversationID], isOn: Bool) {
        var fresh: [ConversationID] = []
        for id in ids {
            let count = (subscriptions[id] ?? 0) + (isOn ? 1 : -1)
            if isOn, count == 1 { fresh.append(id) }
            subscriptions[id] = count > 0 ? count : nil
            if !isOn, count == 0 {
                subscriptionRetries[id] = nil
                core.subscriptions.set(.waiting, of: id)
                if connection != nil { send(Unsubscribe([id]), .nothing) }
            }
        }
        if !fresh.isEmpty { requestSubscriptions(to: fresh) }
    }

    /// Requests subscriptions.
    ///
    /// The server grants either all of them or none.
    func requestSubscriptions(to ids: [ConversationID]) {
        guard connection != nil else { return }
        for id in ids { subscriptionRetries[id] = nil }
        for ids in ids.chunks(of: Subscribe.maximum) { send(Subscribe(ids), .subscription(ids)) }
    }

    func handleSubscribeResponse(_ ids: [ConversationID], _ result: Result<[UInt8], ChatError>) async {
        switch result {
        case .success(let body):
            for id in ids where subscriptions[id] != nil { core.subscriptions.set(.live, of: id) }
            await headsReceived(body, isSubscriptionAnswer: true)
        // The server has no time for the request. The app keeps waiting for its subscriptions.
        case .failure(let error) where [.rateLimited, .overloaded].contains(error.code):
            retrySubscriptions(to: ids, after: error)
        // One of the conversations caused the error: request each one separately.
        case .failure where ids.count > 1:
            for id in ids where subscriptions[id] != nil { requestSubscriptions(to: [id]) }
        case .failure(let error):
            guard let id = ids.first, subscriptions[id] != nil else { return }
            core.subscriptions.set(.refused(error), of: id)
            if error.isTemporary { retrySubscriptions(to: [id], after: error) }
        }
    }

    /// Requests subscriptions again after the server's delay.
    ///
    /// The jitter keeps clients from retrying at the same time.
    private func retrySubscriptions(to ids: [ConversationID], after error: ChatError) {
        guard connection != nil else { return }
        let date = now + (error.retryAfter ?? 5) * Double.random(in: 1...1.5, using: &generator)
        for id in ids where subscriptions[id] != nil { subscriptionRetries[id] = date }
        wake(at: date)
    }

    func tickSubscriptions(now: Date) {
        let due = subscriptionRetries.filter { $0.value <= now }.keys.sorted()
        guard !due.isEmpty else { return }
        requestSubscriptions(to: due)
    }

    /// Records the newest sequence number of rooms at entry.
    ///
    /// Messages above it that the server did not stream are only fetched when the user scrolls to them.
    func recordEntries(_ heads: [ConversationHead]) {
        for head in heads where head.conversation.kind.traits.streamsUnderLoadByPriority {
            core.recordEntry(head.conversation, at: head.head)
        }
    }
}
