public import ScrollbackModel

/// A change of the list of recent conversations, with the unread total after it.
///
/// Changes that reach this device together, for example after being offline, cause one event for each conversation.
/// User interfaces should use ``Recents/views(limit:matching:)``, which is simpler and always complete.
public enum RecentsEvent: Sendable {
    /// A conversation was added to the list, by its first message, by the user, or by a message after its removal.
    ///
    /// No `updated` event follows for the same change.
    case added(RecentConversation, totalUnread: Int64)
    /// A listed conversation changed, for example by a new or changed last message, a read, or a setting.
    case updated(RecentConversation, totalUnread: Int64)
    /// A conversation was removed from the list.
    case removed(ConversationID, totalUnread: Int64)
    /// Conversations were read on any device of the user.
    ///
    /// An `updated` event follows only if it was a single conversation.
    case read(ReadScope, totalUnread: Int64)
    /// The unread counts by kind changed, including muted conversations, for another reason than a read.
    case unreadByKind([ConversationKind: Int64])
    /// All conversations are in the list on this device.
    ///
    /// The event occurs once, after the first sync of a new device.
    case loadedAll
    /// This many events were dropped, because the consumer was too slow.
    ///
    /// The number is 1 if a transaction was running when the consumer subscribed. In both cases, read the list again.
    case missed(Int)

    /// The conversations that were read.
    public enum ReadScope: Hashable, Sendable {
        case one(ConversationID)
        case many([ConversationID])
        case kind(ConversationKind)
        case all
    }
}
