package import Foundation
package import ScrollbackModel
package import ScrollbackWire

/// An event that is published to subscribers after a commit.
///
/// Conversations have their absolute names.
package enum Event: Sendable {
    /// A message was stored.
    ///
    /// - Parameter notifiesCommunity: Whether all members of the community are notified of the channel's new head.
    case message(Message, notifiesCommunity: Bool, origin: Origin?)
    /// A message or a range of messages changed; users who can't see the message receive only the new head.
    case changed(ConversationID, LogChange, HeadAnnouncement, notifiesCommunity: Bool)
    /// A user hid messages from their own view; sent to the user's devices, with the new counts.
    case hidden([SeqRange], OwnStateChange)
    /// The visible history was reduced.
    case visibilityReduced(ConversationID, head: Seq)
    /// The log advanced without an event per message, because of an import, for example.
    case headChanged(ConversationID, HeadAnnouncement, notifiesCommunity: Bool)
    case transient(TransientMessage, origin: Origin?)
    /// A user changed their own state; sent to their devices, and as a read receipt to the other user of a direct
    /// conversation.
    case ownStateChanged(OwnStateChange)
    /// A user read several conversations at once.
    case ownStatesChanged([OwnStateChange])
    /// A user's devices have stored the messages through a sequence number; sent to the other members.
    case delivered(ConversationID, UserID, Seq)
    /// A user changed their own state in a thread; sent to their devices.
    case thread(ConversationID, UserID, ThreadState)
    /// A user stored or deleted a draft; sent to their devices.
    case draft(SyncedDraft, UserID)
    /// A user became a member or has a new role, and can see every message above a sequence number.
    case joined(ConversationID, UserID, Role, fullyVisibleAfter: Seq)
    /// A user is no longer a member and receives nothing more.
    case left(ConversationID, UserID)
    case conversationChanged(ConversationID)
    /// A user's permissions or counts changed; sent to the user's devices, which fetch them.
    case memberStateChanged(ConversationID, UserID)
    /// The conversation was deleted; subscribers are notified and unsubscribed.
    case conversationDeleted(ConversationID)
    /// A channel became private; its members stay subscribed, and other subscribers are unsubscribed.
    ///
    /// For each member, the sequence number above which the member can see every message.
    case madePrivate(ConversationID, members: [UserID: Seq])
    case userChanged(UserProfile)
    /// A user was invited; sent to the user's devices.
    case invited(Invitation)
    /// An invitation was revoked, declined or used; sent to the user's devices.
    case invitationEnded(ConversationID, UserID)
    /// A user's tokens were revoked, so their connections are closed.
    case tokensRevoked(UserID)
    /// A user was banned, deactivated or erased, so their connections are closed with the error.
    case accessRevoked(UserID, ChatError)
    /// A user was banned from a room, which has no list of members.
    case banned(ConversationID, UserID)
    /// A new incarnation of the store began, possibly because the store went back to an earlier state.
    case incarnationBegan(IncarnationRow, after: Checkpoints.Rollback?)
    /// The server's settings changed; for the other nodes.
    case settingsChanged(ServerSettings)
    /// A message was scheduled for a time.
    case scheduled(Date)
    /// The erasure of a user began; for the other nodes.
    case erasureBegan(UserID)
    /// The erasure of a user ended; for the other nodes.
    case erasureEnded(UserID)
    /// A message was reported; sent to webhooks only.
    case reported(Report)
    /// A user added or removed an action; sent to webhooks only, because clients receive the changed message.
    case acted(ConversationID, MessageAction, seq: Seq, isAdded: Bool)
    /// A moderator or administrator acted on a user; sent to webhooks only.
    case moderated(ModerationAct)
}

/// The connection that sent a message, which gets the completion instead of the event.
package struct Origin: Hashable, Sendable {
    package let session: ObjectIdentifier

    package init(_ session: AnyObject) {
        self.session = ObjectIdentifier(session)
    }
}

/// A change of a user's own state in a conversation, such as the read position or the notification level.
///
/// It contains the whole state after the change, with the counts at that time.
package struct OwnStateChange: Sendable {
    package var conversation: ConversationID
    package var user: UserID
    package var summary: ReadSummary
    /// The sequence number to report to the other user of a direct conversation as read, if any.
    var receipt: Seq?
}
