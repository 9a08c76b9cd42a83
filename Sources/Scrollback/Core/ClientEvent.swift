public import ScrollbackModel

/// An event that the client received, for bots and tests.
///
/// User interfaces should use views such as ``Timeline/views`` instead, which are always complete.
public enum ClientEvent: Sendable {
    /// A message arrived from any user, including this user's other devices.
    case message(Message)
    /// A transient message arrived, which is not stored.
    case transient(TransientMessage)
    /// A message was changed or deleted.
    case changed(Message)
    /// A read position advanced: this user's own, or the peer's in a direct conversation.
    case read(ConversationID, UserID, Seq)
    /// The devices of another member of a direct conversation or a small group have received the messages through a
    /// sequence number.
    case delivered(ConversationID, UserID, Seq)
    /// A member joined or got another role, or left if the role is `nil`.
    case member(ConversationID, UserID, Role?)
    /// A member started or stopped typing. While the member keeps typing, the event repeats every few seconds.
    case typing(ConversationID, UserID, isTyping: Bool)
    /// A conversation's settings changed, or the conversation was deleted.
    case conversation(ConversationID, isDeleted: Bool)
    /// This user received an invitation, or a repeated one.
    case invitation(Invitation)
    /// An invitation of this user ended: it was accepted, declined or revoked, or the conversation was deleted.
    case invitationEnded(ConversationID)
    /// The presence of a watched user changed (``ChatClient/presence(of:)``).
    case presence(UserID, Presence)
    /// This many events were dropped, because the consumer was too slow.
    case missed(Int)
}
