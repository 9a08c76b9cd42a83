import Foundation
import ScrollbackModel
package import ScrollbackWire

extension BanUser: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> EmptyAnswer {
        let ban = try Ban(user, until: until, lifetime: lifetime, reason: reason, context)
        let caller = context.caller
        let id = conversation.absolute(for: caller.user)
        var row = try transaction.conversationForBanning(id, by: caller, permissions: context.permissions)
        try checkIsNotSelf(user, caller.user, to: "ban")
        guard
            Permissions.allows(
                .ban, onUserWith: try transaction.role(of: user, in: row),
                as: try transaction.role(of: caller.user, in: row), isAdmin: caller.isAdmin)
        else {
            throw ChatError(
                .forbidden, "You can't ban \(user) from \(id): you can only ban users with a lower role than yours.")
        }
        let growth = try transaction.growth(of: ban, from: row)
        try transaction.checkGrowth(growth, by: caller, adding: .protection)
        try transaction.recordGrowth(growth, by: caller)
        try transaction.store.put(BanRow(conversation: row.number, ban: ban))
        // Erasure and export find a user's conversations by memberships and participants. A banned user may have no
        // membership.
        try transaction.recordParticipant(in: row.number, as: user)
        if !row.flags.contains(.bans) {
            // The flag lets later checks skip conversations that never had a ban. Clients can't see it, so no head
            // changes.
            row.flags.insert(.bans)
            row = try transaction.put(row, isClientVisible: false)
        }
        try transaction.consumeInvitation(of: user, to: row)
        if try transaction.member(user, of: row.number)?.standing == .member {
            if id.isCommunityRoot { try transaction.removeFromChannels(user, of: id, by: caller.user) }
            try transaction.endMembership(user, of: id, by: caller.user, as: .memberBanned)
        } else if id.kind.traits.membership == .subscribers {
            transaction.publish(.banned(id, user))
        }
        transaction.publish(.moderated(ModerationAct(.ban, of: user, in: id, by: caller.user)))
        try transaction.audit(.ban, by: caller, of: user, in: row)
        return EmptyAnswer()
    }
}

extension Ban {
    /// The ban that a request asks for.
    ///
    /// - Throws: `invalid-parameter` if the end is in the past, or more than ten years ahead.
    init(
        _ user: UserID, until: Date? = nil, lifetime: TimeInterval?, reason: String?, _ context: OperationContext
    ) throws(ChatError) {
        let now = context.arrival
        let until = until ?? lifetime.map { now.addingTimeInterval($0) }
        if let until, until <= now || until > now.addingTimeInterval(Ban.longestLifetime) {
            throw .invalidParameter("until", "must lie in the future, and at most ten years from now")
        }
        self.init(id: user, until: until, reason: reason, by: context.caller.user, at: now)
    }
}

extension Transaction {
    /// Returns what a ban adds to the store: rows of the ban and of the audit log, and a notice.
    ///
    /// A user who was never a member of the conversation, and is not banned from it, counts as an added user.
    fileprivate func growth(of ban: Ban, from row: ConversationRow) throws -> Growth {
        let isKnown = try member(ban.id, of: row.number) != nil || store.ban(of: ban.id, in: row.number) != nil
        return Growth(members: isKnown ? 0 : 1, messageBytes: (ban.reason?.utf8.count ?? 0) + Self.rowBytes)
    }

    /// Returns a conversation whose bans the caller may change.
    ///
    /// - Throws: `unknown-conversation`; `invalid-parameter` for a public channel, which has no bans of its own;
    ///   `forbidden`.
    func conversationForBanning(
        _ id: ConversationID, by caller: Caller, permissions: Permissions
    ) throws -> ConversationRow {
        let row = try conversation(id, seenBy: caller, permissions: permissions)
        if row.isPublicChannel {
            throw ChatError.invalidParameter(
                "conversation",
                "is a public channel: ban the user from its community, \(ConversationID.community(id.target)), "
                    + "or mute them in the channel")
        }
        try permissions.require(.ban, in: id, as: role(of: caller.user, in: row), by: caller, to: "ban users")
        return row
    }
}
