import Foundation
import ScrollbackModel

extension Transaction {
    /// Lets somebody join a conversation whose members are listed.
    ///
    /// - Parameter lifetime: in seconds; for good without it.
    /// - Returns: the invitation, and whether there was none before.
    func invite(
        _ user: UserID, to id: ConversationID, lifetime: Int64?, by caller: Caller, permissions: Permissions
    ) throws -> (invitation: Invitation, isNew: Bool) {
        let row = try conversationWithInvitations(id, by: caller, permissions: permissions)
        guard try member(user, of: row.number)?.standing != .member else {
            throw ChatError(.conflict, "\(user) is a member of \(id) already", parameter: "user")
        }
        try checkIsNotErased(user)
        try checkIsNotBanned(user, from: row, toldTo: caller.user)
        if row.isPrivate, let community = try conversation(.community(id.target)) {
            try checkIsMember(user, of: community)
        }
        if !caller.isAdmin, try store.hasBlocked(user, caller.user) {
            throw ChatError(.blocked, "\(user) has blocked you")
        }
        let isNew = try openInvitation(of: user, to: row) == nil
        // To the millisecond, as it is told.
        let at = Date(timeIntervalSince1970: (now.date.timeIntervalSince1970 * 1000).rounded(.down) / 1000)
        let invitation = InvitationRow(
            conversation: row.number, user: user, by: caller.user, at: at,
            until: lifetime.map { at + TimeInterval($0) })
        try store.put(invitation)
        publish(.invited(invitation.invitation(to: row)))
        return (invitation.invitation(to: row), isNew)
    }

    /// Takes an invitation back, or declines it.
    func endInvitation(
        of user: UserID, to id: ConversationID, by caller: Caller, permissions: Permissions
    ) throws {
        if user == caller.user, let row = try conversation(id), !row.isDeleted,
            try openInvitation(of: user, to: row) != nil
        {
            return try endInvitation(of: user, to: row)
        }
        let row = try conversationWithInvitations(id, by: caller, permissions: permissions)
        guard try openInvitation(of: user, to: row) != nil else {
            throw ChatError(.unknownInvitation, "\(user) is not invited to \(id)", parameter: "user")
        }
        try endInvitation(of: user, to: row)
    }

    /// Lets somebody in who was invited.
    ///
    /// - Returns: whether they were.
    func joinAsInvited(_ user: UserID, _ id: ConversationID, by caller: Caller) throws -> Bool {
        guard user == caller.user, let row = try conversation(id), !row.isDeleted, row.takesInvitations,
            try openInvitation(of: user, to: row) != nil, try member(user, of: row.number)?.standing != .member
        else { return false }
        try checkIsNotBanned(user, from: row)
        if row.isPrivate, let community = try conversation(.community(id.target)) {
            try checkIsMember(user, of: community)
        }
        try admit(user, as: .member, to: row, sinceBeginning: false, by: user)
        return true
    }

    /// Whoever is in, or banned, needs no invitation any more.
    func useInvitation(of user: UserID, to row: ConversationRow) throws {
        if try store.invitation(of: user, to: row.number) != nil { try endInvitation(of: user, to: row) }
    }

    /// A conversation that is no more has nobody invited.
    func endInvitations(to row: ConversationRow) throws {
        var after: UserID?
        while case let page = try store.invitations(to: row.number, after: after, limit: 500), let last = page.last {
            for invitation in page { publish(.invitationEnded(row.id, invitation.user)) }
            after = last.user
        }
    }

    private func endInvitation(of user: UserID, to row: ConversationRow) throws {
        try store.dropInvitation(of: user, to: row.number)
        publish(.invitationEnded(row.id, user))
    }

    private func openInvitation(of user: UserID, to row: ConversationRow) throws -> InvitationRow? {
        try store.invitation(of: user, to: row.number).flatMap { $0.holds(at: now.date) ? $0 : nil }
    }

    private func conversationWithInvitations(
        _ id: ConversationID, by caller: Caller, permissions: Permissions
    ) throws -> ConversationRow {
        let row = try conversationWithMembers(id, seenBy: caller, permissions: permissions)
        try permissions.checkMayInvite(to: id, as: try role(of: caller.user, in: row), by: caller)
        return row
    }
}

extension Permissions {
    /// - Throws: `forbidden`, by name for a kind of conversation to which nobody is invited.
    func checkMayInvite(to id: ConversationID, as role: Role?, by caller: Caller) throws(ChatError) {
        guard self[.invite, id.kind] != .nobody else {
            throw ChatError(.forbidden, "nobody is invited to \(id): it is a \(id.kind.rawValue) conversation")
        }
        guard self[.invite, id.kind].isMet(by: role, isAdmin: caller.isAdmin) else {
            throw ChatError(.forbidden, "inviting somebody to \(id) takes more than you are there")
        }
    }
}

extension ConversationRow {
    /// Whether it lists its members, so that there is something to be invited to.
    var takesInvitations: Bool { id.kind.traits.membership == .listed || id.isCommunityItself || isPrivate }
}

extension InvitationRow {
    func invitation(to row: ConversationRow) -> Invitation {
        Invitation(
            conversation: row.id, user: user, by: by, at: at, expiresAt: until, name: row.name, avatar: row.avatar)
    }
}
