import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// Carries out the actions of ``SubscriptionSet``.
extension Driver {
    func perform(_ actions: [SubscriptionAction]) {
        for action in actions {
            switch action {
            case .subscribe(let ids): send(Subscribe(ids), .subscription(ids))
            case .unsubscribe(let id): send(Unsubscribe([id]), .nothing)
            case .show(let state, let id): core.subscriptions.set(Conversation.Subscription.State(state), of: id)
            case .wake(let date): wake(at: date)
            }
        }
    }

    func subscriptionsAnswered(
        _ ids: [ConversationID], to ref: Int64, _ result: Result<[UInt8], ChatError>
    ) async {
        perform(subscriptions.answered(ids, result.map { _ in }, now: now, using: &generator))
        if case .success(let body) = result { await headsReceived(body, to: ref, isSubscriptionAnswer: true) }
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

extension Conversation.Subscription.State {
    fileprivate init(_ state: SubscriptionSet.State) {
        switch state {
        case .waiting: self = .waiting
        case .live: self = .live
        case .refused(let error): self = .refused(error)
        }
    }
}
