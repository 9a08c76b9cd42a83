package import ScrollbackModel

/// What subscribers are told after a commit.
///
/// Conversations go by their absolute names.
package enum Event: Sendable {
    /// - Parameter isListed: whether a community's members may hear that the channel moved without hearing the channel.
    case message(Message, isListed: Bool, origin: Origin?)
    /// Something was done to a message or a run of places. Who may not see the message hears only that something was.
    case changed(ConversationID, LogChange, LogMark, isListed: Bool)
    /// Somebody took places out of their own view, with the counts computed then: told to their devices alone.
    case hidden([SeqRange], ReadEvent)
    /// Fewer may see the past from now on.
    case narrowed(ConversationID, head: Seq)
    /// The log moved on by more than is told one by one: an import.
    case moved(ConversationID, LogMark, isListed: Bool)
    case transient(TransientMessage, origin: Origin?)
    /// Somebody's read position moved: told to their own devices, and in a direct conversation to the peer.
    case read(ReadEvent)
    /// Somebody became a member, or another kind of one, who sees all above a place.
    case joined(ConversationID, UserID, Role, seesAllAbove: Seq)
    /// Somebody is no longer a member: nothing more goes to them from here on.
    case left(ConversationID, UserID)
    case conversationChanged(ConversationID)
    /// What somebody may do there changed: told to their devices alone.
    case standingChanged(ConversationID, UserID)
    /// Whoever hears it is told, and hears it no more.
    case conversationDeleted(ConversationID)
    /// It lists its own members from now on: whoever hears it hears it no more until they ask again.
    case madePrivate(ConversationID)
    case userChanged(UserProfile)
    /// Their tokens were revoked: their connections are closed.
    case revoked(UserID)
}

/// The connection a message came in by: it gets its answer and not the event.
package struct Origin: Hashable, Sendable {
    package let session: ObjectIdentifier

    package init(_ session: AnyObject) {
        self.session = ObjectIdentifier(session)
    }
}

/// A read position that moved, with the counts computed there.
package struct ReadEvent: Sendable {
    package var conversation: ConversationID
    package var user: UserID
    package var summary: ReadSummary
    /// Whether the other person of a direct conversation is told: not where one of the two has blocked the other.
    var isForPeer = true
}
