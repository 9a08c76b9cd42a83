import Foundation
import ScrollbackModel

extension Transaction {
    /// Checks that a caller may invite or add a user.
    ///
    /// - Throws: `blocked` if the user has blocked the caller.
    func checkMayApproach(_ user: UserID, by caller: Caller) throws {
        if !caller.isAdmin, try store.hasBlocked(user, caller.user) {
            throw ChatError(.blocked, "\(user) has blocked you.", parameter: "user")
        }
    }

    /// Checks that a caller may make a user a member without asking them.
    ///
    /// Administrators always may.
    ///
    /// - Parameter row: The conversation, or `nil` if it is new.
    /// - Throws: `blocked` if the user has blocked the caller. `invitation-required` if the user accepts only
    ///   invitations or left the conversation. `unknown-user` and `conflict` for an erased user.
    func checkMayAdd(_ user: UserID, to row: ConversationRow?, by caller: Caller) throws {
        let known = try checkIsNotErased(user)
        guard !caller.isAdmin, user != caller.user else { return }
        try checkMayApproach(user, by: caller)
        if known?.isInvitationOnly == true {
            throw ChatError(
                .invitationRequired, "\(user) can't be added to conversations. Invite them instead.", parameter: "user")
        }
        if let row, try store.spans(of: user, in: row.number).last?.end?.isVoluntary == true {
            throw ChatError(.invitationRequired, "\(user) left \(row.id). Invite them instead.", parameter: "user")
        }
    }

    /// Adds an invited user as a member.
    ///
    /// - Returns: Whether the user had an open invitation.
    func acceptInvitation(_ user: UserID, _ id: ConversationID, by caller: Caller) throws -> Bool {
        guard user == caller.user, let row = try conversation(id), !row.isDeleted, row.supportsInvitations,
            try openInvitation(of: user, to: row) != nil, try member(user, of: row.number)?.standing != .member
        else { return false }
        try checkIsNotBanned(user, from: row, now: now.date)
        if row.isPrivate, let community = try conversation(.community(id.target)) {
            try checkIsMember(user, of: community)
        }
        try addMember(user, as: .member, to: row, sinceBeginning: false, by: user)
        return true
    }

    /// Deletes the invitation of a user who joined or was banned.
    func consumeInvitation(of user: UserID, to row: ConversationRow) throws {
        if try store.invitation(of: user, to: row.number) != nil { try endInvitation(of: user, to: row) }
    }

    /// Ends all invitations to a deleted conversation.
    func endInvitations(to row: ConversationRow) throws {
        var after: UserID?
        while case let page = try store.invitations(to: row.number, after: after, limit: 500), let last = page.last {
            for invitation in page { publish(.invitationEnded(row.id, invitation.user)) }
            after = last.user
        }
    }

    func endInvitation(of user: UserID, to row: ConversationRow) throws {
        try store.dropInvitation(of: user, to: row.number)
        publish(.invitationEnded(row.id, user))
    }

    func openInvitation(of user: UserID, to row: ConversationRow) throws -> InvitationRow? {
        try store.invitation(of: user, to: row.number).flatMap { $0.isActive(at: now.date) ? $0 : nil }
    }

    func conversationWithInvitations(
        _ id: ConversationID, by caller: Caller, permissions: Permissions
    ) throws -> ConversationRow {
        let row = try conversationWithMembers(id, seenBy: caller, permissions: permissions)
        try permissions.checkMayInvite(to: id, as: try role(of: caller.user, in: row), by: caller)
        return row
    }
}

extension Permissions {
    /// Checks that the caller may invite users to a conversation.
    ///
    /// - Throws: `forbidden`, with a specific message for kinds of conversations without invitations.
    func checkMayInvite(to id: ConversationID, as role: Role?, by caller: Caller) throws(ChatError) {
        guard self[.invite, id.kind] != .nobody else {
            throw ChatError(.forbidden, "\(id) is a \(id.kind.rawValue) conversation, which has no invitations.")
        }
        try require(.invite, in: id, as: role, by: caller, to: "invite users")
    }
}

extension ConversationRow {
    /// Whether the conversation lists its members, so that users can be invited.
    var supportsInvitations: Bool { id.kind.traits.membership == .listed || id.isCommunityRoot || isPrivate }
}

extension InvitationRow {
    func invitation(to row: ConversationRow) -> Invitation {
        Invitation(
            conversation: row.id, user: user, by: by, at: at, expiresAt: until, name: row.name, avatar: row.avatar)
    }
}
