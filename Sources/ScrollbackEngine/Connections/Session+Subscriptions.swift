package import ScrollbackModel
import Synchronization

/// Subscriptions to conversations.
extension Session {
    /// The point in time of a permission check, which becomes invalid when access is reduced for this user or for all.
    struct AccessCheckpoint {
        var userAccessReductions: Int
        var accessReductions: Int
    }

    func checkpoint() -> AccessCheckpoint {
        AccessCheckpoint(
            userAccessReductions: state.withLock { $0.userAccessReductions }, accessReductions: hub.accessReductions)
    }

    /// Subscribes to conversations that a permission check after `checkpoint` allowed; all of them or none.
    ///
    /// - Parameters:
    ///   - ids: For each conversation, the sequence number above which the user can see every message.
    ///   - capacities: The maximum numbers of subscribers of rooms with a limit.
    /// - Returns: Whether the permission check is still valid; if not, no subscription is added.
    /// - Throws: `room-full`; in this case, no subscription is added.
    func subscribe(
        to ids: [ConversationID: Seq], capacities: [ConversationID: Int64] = [:], since checkpoint: AccessCheckpoint
    ) throws(ChatError) -> Bool {
        try state.withLock { (state) throws(ChatError) -> Bool in
            guard case .open = state.phase else { return true }
            guard state.userAccessReductions == checkpoint.userAccessReductions else { return false }
            var new: [ConversationID] = []
            for (id, seq) in ids {
                // Existing subscriptions are renewed too, because the hub may have dismissed all subscribers since.
                let isSubscribed: Bool
                do throws(ChatError) {
                    isSubscribed = try subscribeInHub(
                        to: id, fullyVisibleAfter: seq, since: checkpoint, capacity: capacities[id])
                } catch {
                    for id in new { hub.unsubscribe(self, from: id) }
                    throw error
                }
                guard isSubscribed else {
                    for id in new { hub.unsubscribe(self, from: id) }
                    return false
                }
                if !state.subscriptions.contains(id) { new.append(id) }
            }
            state.subscriptions.formUnion(new)
            return true
        }
    }

    private func subscribeInHub(
        to id: ConversationID, fullyVisibleAfter seq: Seq, since checkpoint: AccessCheckpoint, capacity: Int64?
    ) throws(ChatError) -> Bool {
        guard let capacity else {
            return hub.subscribe(self, to: id, fullyVisibleAfter: seq, since: checkpoint.accessReductions)
        }
        return try hub.subscribe(
            self, to: id, fullyVisibleAfter: seq, since: checkpoint.accessReductions, capacity: capacity)
    }

    func unsubscribe(from id: ConversationID) {
        state.withLock { state in
            if state.subscriptions.remove(id) != nil { hub.unsubscribe(self, from: id) }
        }
    }

    /// Whether the session is subscribed to a conversation.
    package func isSubscribed(to id: ConversationID) -> Bool { state.withLock { $0.subscriptions.contains(id) } }

    package func joined(_ id: ConversationID, fullyVisibleAfter seq: Seq) {
        // Subscribing to a community means receiving the heads of its channels.
        state.withLock { state in
            guard case .open = state.phase else { return }
            state.subscriptions.insert(id)
            hub.subscribe(self, to: id, fullyVisibleAfter: seq)
        }
    }

    /// Invalidates earlier permission checks, because the user can see less than before.
    package func visibilityReduced() {
        state.withLock { $0.userAccessReductions += 1 }
    }

    package func left(_ id: ConversationID) {
        state.withLock { state in
            state.userAccessReductions += 1
            for subscribed in state.subscriptions
            where subscribed == id || id.isCommunityRoot && subscribed.community == id {
                state.subscriptions.remove(subscribed)
                hub.unsubscribe(self, from: subscribed)
            }
        }
    }
}
