package import ScrollbackModel
package import ScrollbackWire

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
    /// Somebody changed something of their own: told to their devices, and how far they read in a direct conversation to the
    /// peer.
    case read(ReadEvent)
    /// The same of several conversations that one person read at once.
    case reads([ReadEvent])
    /// Somebody became a member, or another kind of one, who sees all above a place.
    case joined(ConversationID, UserID, Role, seesAllAbove: Seq)
    /// Somebody is no longer a member: nothing more goes to them from here on.
    case left(ConversationID, UserID)
    case conversationChanged(ConversationID)
    /// What somebody may do or has to count there changed: told to their devices alone, which ask.
    case standingChanged(ConversationID, UserID)
    /// Whoever hears it is told, and hears it no more.
    case conversationDeleted(ConversationID)
    /// It lists its own members from now on: whoever hears it hears it no more until they ask again.
    case madePrivate(ConversationID)
    case userChanged(UserProfile)
    /// Somebody was invited: told to their devices alone, as the next is.
    case invited(Invitation)
    /// Their invitation is none any more.
    case invitationEnded(ConversationID, UserID)
    /// Their tokens were revoked: their connections are closed.
    case revoked(UserID)
    /// Nobody comes in under their name any more: their connections are closed, and told why.
    case shutOut(UserID, ChatError)
    /// Somebody may hear a room no more, whom no list has as a member.
    case banned(ConversationID, UserID)
    /// Somebody reported a message: told to the operator's program alone.
    case reported(Report)
}

/// The connection a message came in by: it gets its answer and not the event.
package struct Origin: Hashable, Sendable {
    package let session: ObjectIdentifier

    package init(_ session: AnyObject) {
        self.session = ObjectIdentifier(session)
    }
}

/// What somebody changed of their own in a conversation, with the counts computed then.
package struct ReadEvent: Sendable {
    package var conversation: ConversationID
    package var user: UserID
    package var summary: ReadSummary
    /// What the other person of a direct conversation is told to have been read, if anything.
    var receipt: Seq?
}
