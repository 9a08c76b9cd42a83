package import ScrollbackModel
import Synchronization

/// Subscriptions to conversations.
extension Session {
    /// The point in time of a permission check, which becomes invalid when access is reduced for this user or for all.
    struct Mark {
        var removals: Int
        var dismissals: Int
    }

    func mark() -> Mark {
        Mark(removals: state.withLock { $0.removals }, dismissals: hub.dismissals)
    }

    /// Subscribes to conversations that a permission check after `mark` allowed; all of them or none.
    ///
    /// - Parameters:
    ///   - ids: For each conversation, the sequence number above which the user can see every message.
    ///   - capacities: The maximum numbers of subscribers of rooms with a limit.
    /// - Returns: Whether the permission check is still valid; if not, no subscription is added.
    /// - Throws: `room-full`; in this case, no subscription is added.
    func subscribe(
        to ids: [ConversationID: Seq], capacities: [ConversationID: Int64] = [:], since mark: Mark
    ) throws(ChatError) -> Bool {
        try state.withLock { (state) throws(ChatError) -> Bool in
            guard case .open = state.phase else { return true }
            guard state.removals == mark.removals else { return false }
            var new: [ConversationID] = []
            for (id, seq) in ids {
                // Existing subscriptions are renewed too, because the hub may have dismissed all subscribers since.
                let isHeard: Bool
                do throws(ChatError) {
                    isHeard = try listen(to: id, seesAllAbove: seq, since: mark, capacity: capacities[id])
                } catch {
                    for id in new { hub.unsubscribe(self, from: id) }
                    throw error
                }
                guard isHeard else {
                    for id in new { hub.unsubscribe(self, from: id) }
                    return false
                }
                if !state.subscriptions.contains(id) { new.append(id) }
            }
            state.subscriptions.formUnion(new)
            return true
        }
    }

    private func listen(
        to id: ConversationID, seesAllAbove seq: Seq, since mark: Mark, capacity: Int64?
    ) throws(ChatError) -> Bool {
        guard let capacity else { return hub.subscribe(self, to: id, seesAllAbove: seq, since: mark.dismissals) }
        return try hub.subscribe(self, to: id, seesAllAbove: seq, since: mark.dismissals, capacity: capacity)
    }

    func unsubscribe(from id: ConversationID) {
        state.withLock { state in
            if state.subscriptions.remove(id) != nil { hub.unsubscribe(self, from: id) }
        }
    }

    /// Whether the session is subscribed to a conversation.
    package func hears(_ id: ConversationID) -> Bool { state.withLock { $0.subscriptions.contains(id) } }

    package func joined(_ id: ConversationID, seesAllAbove seq: Seq) {
        // Subscribing to a community means receiving the heads of its channels.
        state.withLock { state in
            guard case .open = state.phase else { return }
            state.subscriptions.insert(id)
            hub.subscribe(self, to: id, seesAllAbove: seq)
        }
    }

    /// Invalidates earlier permission checks, because the user can see less than before.
    package func seesLess() {
        state.withLock { $0.removals += 1 }
    }

    package func left(_ id: ConversationID) {
        state.withLock { state in
            state.removals += 1
            for heard in state.subscriptions where heard == id || id.isCommunityItself && heard.community == id {
                state.subscriptions.remove(heard)
                hub.unsubscribe(self, from: heard)
            }
        }
    }
}
