package import ScrollbackModel
import Synchronization

/// Subscriptions to conversations.
extension Session {
    /// The version of access decisions; a permission check is valid only while the version stays the same.
    struct AccessVersion {
        /// The version of this user's access.
        var user: Int
        /// The version of the access of all users: ``Hub/accessVersion``.
        var hub: Int
    }

    func accessVersion() -> AccessVersion {
        AccessVersion(user: state.withLock { $0.userAccessVersion }, hub: hub.accessVersion)
    }

    /// Subscribes to conversations that a permission check allowed; all of them or none.
    ///
    /// - Parameters:
    ///   - ids: For each conversation, the sequence number above which the user can see every message.
    ///   - capacities: The maximum numbers of subscribers of rooms with a limit.
    ///   - version: The version of access decisions before the permission check.
    /// - Returns: Whether the permission check is still valid; if not, no subscription is added.
    /// - Throws: `room-full`; in this case, no subscription is added.
    func subscribe(
        to ids: [ConversationID: Seq], capacities: [ConversationID: Int64] = [:], since version: AccessVersion
    ) throws(ChatError) -> Bool {
        try state.withLock { (state) throws(ChatError) -> Bool in
            guard case .open = state.phase else { return true }
            guard state.userAccessVersion == version.user else { return false }
            var new: [ConversationID] = []
            for (id, seq) in ids {
                // Existing subscriptions are renewed too, because the hub may have dismissed all subscribers since.
                let isSubscribed: Bool
                do throws(ChatError) {
                    isSubscribed = try subscribeInHub(
                        to: id, fullyVisibleAfter: seq, since: version, capacity: capacities[id])
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
        to id: ConversationID, fullyVisibleAfter seq: Seq, since version: AccessVersion, capacity: Int64?
    ) throws(ChatError) -> Bool {
        guard let capacity else {
            return hub.subscribe(self, to: id, fullyVisibleAfter: seq, since: version.hub)
        }
        return try hub.subscribe(self, to: id, fullyVisibleAfter: seq, since: version.hub, capacity: capacity)
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
        state.withLock { $0.userAccessVersion += 1 }
    }

    package func left(_ id: ConversationID) {
        state.withLock { state in
            state.userAccessVersion += 1
            for subscribed in state.subscriptions
            where subscribed == id || id.isCommunityRoot && subscribed.community == id {
                state.subscriptions.remove(subscribed)
                hub.unsubscribe(self, from: subscribed)
            }
        }
    }
}
