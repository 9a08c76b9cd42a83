public import ScrollbackModel

/// Something that happened to the list of recent conversations, with what is unread in all of it afterwards.
///
/// One for each conversation and step in which something reached this device: messages that come at once, as after a time
/// offline, are one. For screens, ``Recents/views(limit:matching:)`` is simpler and always whole.
public enum RecentsEvent: Sendable {
    /// A conversation came into the list: its first message was said, it was put in by hand, or something was said after
    /// it was taken out. No `updated` says so besides.
    case added(RecentConversation, totalUnread: Int64)
    /// Something about a conversation of the list changed: a message was said, its last message changed or is another one
    /// now, it was read, muted, pinned, named.
    case updated(RecentConversation, totalUnread: Int64)
    /// A conversation left the list.
    case removed(ConversationID, totalUnread: Int64)
    /// Conversations were read, here or on another device of the user; `updated` follows only where it was one alone.
    case read(ReadScope, totalUnread: Int64)
    /// What is unread changed, by kind and muted ones too, and not because something was read.
    case unreadByKind([ConversationKind: Int64])
    /// Every conversation is in the list on this device; comes once, after the ones that a new device had to ask for.
    case loadedAll
    /// So many events were dropped, because nobody took them; or 1, because something was being stored just when a loop
    /// began: look at the list once more.
    case missed(Int)

    /// What was read.
    public enum ReadScope: Hashable, Sendable {
        case one(ConversationID)
        case many([ConversationID])
        case kind(ConversationKind)
        case all
    }
}
