public import ScrollbackModel
import ScrollbackWire

// Invitations to groups, communities and private channels. Everything here is asked of the server at once.

extension Conversation {
    /// Lets somebody join by themselves, which takes a moderator.
    ///
    /// Their devices are told (``ClientEvent/invitation(_:)``). Who was invited is so again, from now on.
    ///
    /// - Parameters:
    ///   - user: who is no member.
    ///   - lifetime: for how long, a minute to a year; for good without it.
    /// - Throws: `conflict` for a member; `blocked` where they have blocked this user; `forbidden`, of conversations too to which
    ///   nobody is invited; `invalid-parameter`; `unreachable`.
    @discardableResult
    public func invite(_ user: UserID, for lifetime: Duration? = nil) async throws(ChatError) -> Invitation {
        let seconds = try Invitation.validated(lifetime: lifetime?.components.seconds)
        let body = try await core.request(.people(.invite(list, user, expiresIn: seconds)))
        var reader = try JSONReader(body)
        return try Invitation(from: &reader)
    }

    /// Takes an invitation back, which takes a moderator.
    ///
    /// - Throws: `unknown-invitation` where there is none; `forbidden`; `unreachable`.
    public func withdrawInvitation(of user: UserID) async throws(ChatError) {
        _ = try await core.request(.people(.endInvitation(list, user)))
    }

    /// Who is invited and has not joined yet, by name; it takes a moderator to see it.
    ///
    /// - Throws: `forbidden`, of conversations too to which nobody is invited; `unreachable`.
    public func invitations() async throws(ChatError) -> [Invitation] {
        try await core.invitations(to: list)
    }

    /// Joins, as this user was invited to; moderators need no invitation.
    ///
    /// - Throws: `unknown-conversation` for who is not invited; `unreachable`.
    public func join() async throws(ChatError) {
        _ = try await core.request(.people(.putMember(list, core.user, role: nil, mute: nil)))
    }

    /// Declines this user's invitation.
    ///
    /// - Throws: `unknown-conversation` or `unknown-invitation` for who is not invited; `unreachable`.
    public func decline() async throws(ChatError) {
        try await withdrawInvitation(of: core.user)
    }
}

extension ChatClient {
    /// Whereto this user is invited, newest first.
    ///
    /// - Throws: `unreachable` or `timeout` when the server can't be asked.
    public func invitations() async throws(ChatError) -> [Invitation] {
        try await core.invitations(to: nil).sorted { ($1.at, $0.conversation) < ($0.at, $1.conversation) }
    }
}

extension ClientCore {
    fileprivate func invitations(to id: ConversationID?) async throws(ChatError) -> [Invitation] {
        try await all { .people(.invitations(id, cursor: $0?.cursor, limit: Limits.standard.pageSize)) }
    }
}
