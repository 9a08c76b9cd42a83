public import ScrollbackModel
import ScrollbackWire

// Invitations to groups, communities and private channels. All methods send their requests immediately.

extension Conversation {
    /// Invites a user, who can then join.
    ///
    /// Inviting requires the moderator role.
    ///
    /// The user's devices receive ``ClientEvent/invitation(_:)``. A new invitation replaces an existing one.
    ///
    /// - Parameters:
    ///   - user: A user who is not a member.
    ///   - lifetime: The duration until the invitation expires, from one minute to one year; `nil` for no expiry.
    /// - Throws: `conflict` if the user is a member. `blocked` if the user has blocked this user. `forbidden`, also for
    ///   conversations without invitations. `invalid-parameter` or `unreachable`.
    @discardableResult
    public func invite(_ user: UserID, for lifetime: Duration? = nil) async throws(ChatError) -> Invitation {
        let seconds = try Invitation.validated(lifetime: lifetime?.components.seconds)
        return try await core.perform(InviteUser(conversation: memberListID, user: user, lifetime: seconds)).invitation
    }

    /// Revokes an invitation, which requires the moderator role.
    ///
    /// - Throws: `unknown-invitation` if the user is not invited. `forbidden` or `unreachable`.
    public func revokeInvitation(of user: UserID) async throws(ChatError) {
        _ = try await core.perform(EndInvitation(conversation: memberListID, user: user))
    }

    /// Returns the open invitations, sorted by user ID.
    ///
    /// It requires the moderator role.
    ///
    /// - Throws: `forbidden`, also for conversations without invitations. `unreachable`.
    public func invitations() async throws(ChatError) -> [Invitation] {
        try await core.invitations(to: memberListID)
    }

    /// Joins the conversation by accepting the user's invitation.
    ///
    /// Moderators need no invitation.
    ///
    /// - Throws: `unknown-conversation` if the user is not invited, or `unreachable`.
    public func join() async throws(ChatError) {
        _ = try await core.perform(PutMember(conversation: memberListID, user: core.user))
    }

    /// Declines the user's invitation.
    ///
    /// - Throws: `unknown-conversation` or `unknown-invitation` if the user is not invited. `unreachable`.
    public func declineInvitation() async throws(ChatError) {
        try await revokeInvitation(of: core.user)
    }
}

extension ChatClient {
    /// Returns the user's open invitations, newest first.
    ///
    /// - Throws: `unreachable` or `timeout`.
    public func invitations() async throws(ChatError) -> [Invitation] {
        try await core.invitations(to: nil).sorted { ($1.at, $0.conversation) < ($0.at, $1.conversation) }
    }
}

extension ClientCore {
    fileprivate func invitations(to id: ConversationID?) async throws(ChatError) -> [Invitation] {
        try await all { ListInvitations(conversation: id, page: $0) }
    }
}
