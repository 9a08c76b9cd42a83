package import ScrollbackModel

/// An act of a moderator or administrator on a user.
package struct ModerationAct: Hashable, Sendable {
    package enum Action: String, Sendable {
        case ban, unban, mute, unmute, deactivate, activate
    }

    package var action: Action
    /// The conversation, or `nil` for the server.
    package var conversation: ConversationID?
    package var user: UserID
    package var moderator: UserID

    package init(_ action: Action, of user: UserID, in conversation: ConversationID? = nil, by moderator: UserID) {
        self.action = action
        self.conversation = conversation
        self.user = user
        self.moderator = moderator
    }
}
