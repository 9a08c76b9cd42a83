package import ScrollbackModel
import Synchronization

/// The conversations a connection hears in full.
extension Session {
    /// Until when a look at the store holds: until something is taken from this session's user, or from everybody.
    struct Mark {
        var removals: Int
        var dismissals: Int
    }

    func mark() -> Mark {
        Mark(removals: state.withLock { $0.removals }, dismissals: hub.dismissals)
    }

    /// Hears conversations that a look at the store, taken after `mark`, allowed.
    ///
    /// - Parameter ids: each with the place above which the user sees every message.
    /// - Returns: false, and nothing more is heard than before, when that look no longer holds.
    /// - Throws: `room-full`, and nothing more is heard than before.
    func subscribe(
        to ids: [ConversationID: Seq], capacities: [ConversationID: Int64] = [:], since mark: Mark
    ) throws(ChatError) -> Bool {
        try state.withLock { (state) throws(ChatError) -> Bool in
            guard case .open = state.phase else { return true }
            guard state.removals == mark.removals else { return false }
            var new: [ConversationID] = []
            for (id, seq) in ids {
                // Also what it heard before: its hearers may have been sent away since.
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

    package func hears(_ id: ConversationID) -> Bool { state.withLock { $0.subscriptions.contains(id) } }

    package func joined(_ id: ConversationID, seesAllAbove seq: Seq) {
        // Of a community this is the list of members, whose heads of channels it hears from now on.
        state.withLock { state in
            guard case .open = state.phase else { return }
            state.subscriptions.insert(id)
            hub.subscribe(self, to: id, seesAllAbove: seq)
        }
    }

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
