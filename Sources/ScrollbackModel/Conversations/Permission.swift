/// Something that a user can be allowed to do in a conversation.
///
/// The engine's `Permissions` decide which role has which permission, by kind of conversation.
package enum Permission: String, CaseIterable, Sendable {
    case create
    /// Read history and receive messages.
    case read
    case send
    /// Send messages that a room delivers regardless of its rate limit.
    case sendHigh
    /// Mention all members in a message.
    case mentionEveryone
    /// Edit one's own messages.
    case editOwn
    /// Edit messages of other users.
    case editOthers
    /// Delete one's own messages for everyone.
    case recall
    /// Delete messages of other users for everyone.
    case deleteOthers
    /// Delete ranges of the history for everyone.
    case deleteHistory
    /// Attach reactions and other actions to messages.
    case act
    /// Pin messages for everyone, and unpin them.
    case pin
    case listMembers
    case addMember
    /// Invite users, who then can join by themselves.
    case invite
    /// Remove other members.
    case removeMember
    /// Mute members.
    case mute
    /// Ban users.
    case ban
    case leave
    case changeRole
    case changeSettings
    case delete
    /// Import messages from another system.
    case importHistory
}
