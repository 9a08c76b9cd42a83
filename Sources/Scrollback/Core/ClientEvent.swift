public import ScrollbackModel

/// Something that happened, for bots and tests.
///
/// Screens use views instead, which are always whole.
public enum ClientEvent: Sendable {
    /// A message came, from anybody, this user's other devices included.
    case message(Message)
    /// A message came that is not stored.
    case transient(TransientMessage)
    /// A message changed, or is gone.
    case changed(Message)
    /// Somebody's read position moved: this user's, or a peer's in a direct conversation.
    case read(ConversationID, UserID, Seq)
    /// Somebody joined or changed their role; without a role, somebody left.
    case member(ConversationID, UserID, Role?)
    /// Somebody began to write something, or stopped; who goes on says so every few seconds.
    case typing(ConversationID, UserID, isTyping: Bool)
    /// A conversation's settings changed, or it was deleted.
    case conversation(ConversationID, isDeleted: Bool)
    /// This user was invited, or was so again.
    case invitation(Invitation)
    /// An invitation of this user's is none any more: used, declined, taken back, or its conversation is gone.
    case invitationEnded(ConversationID)
    /// Somebody this client asked about (``ChatClient/presence(of:)``) came, or went.
    case presence(UserID, Presence)
    /// So many events were dropped, because nobody took them.
    case missed(Int)
}
