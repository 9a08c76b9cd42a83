import Foundation
import ScrollbackModel

extension MembershipReader {
    /// Checks that bans, mutes, blocks and freezes allow a user to write in a conversation.
    ///
    /// The role must already have been checked. Mutes, bans and freezes of a channel's community apply to the channel.
    /// Administrators may always write; moderators and owners may write in a frozen conversation.
    ///
    /// - Parameter role: The caller's role; `nil` if the caller is not a member.
    /// - Throws: `blocked`, `banned` or `muted`.
    func checkMayWrite(_ caller: Caller, in row: ConversationRow, role: Role?, now: Date) throws {
        guard !caller.isAdmin else { return }
        if let blocker = row.blocker(of: caller.user) { throw ChatError(.blocked, "\(blocker) has blocked you.") }
        let conversations = try restrictingConversations(of: row)
        try checkIsNotBanned(caller.user, from: conversations, now: now)
        for conversation in conversations {
            if conversation.isFrozen, role ?? .member < .moderator {
                throw ChatError(
                    .muted, "\(conversation.id) is frozen. Only its moderators and owners may write there.")
            }
            if conversation.hasMutes, let mute = try mute(of: caller.user, in: conversation.number),
                mute.isActive(at: now)
            {
                guard case .until(let date) = mute else {
                    throw ChatError(.muted, "You can't write in \(conversation.id), because you are muted there.")
                }
                throw ChatError(
                    .muted,
                    "You can't write in \(conversation.id) before \(date.iso8601), because you are muted there.",
                    retryAfter: date.timeIntervalSince(now))
            }
        }
    }

    /// Checks that a user is not banned from a conversation or, if it is a channel, from its community.
    ///
    /// - Parameter caller: The user who receives the error, if it is not `user`.
    /// - Throws: `banned`.
    func checkIsNotBanned(
        _ user: UserID, from row: ConversationRow, now: Date, shownTo caller: UserID? = nil
    ) throws {
        try checkIsNotBanned(user, from: try restrictingConversations(of: row), now: now, shownTo: caller)
    }

    /// Checks that a user is not banned from any of the given conversations.
    ///
    /// The check reads bans only of conversations that ever had a ban. Public channels ignore bans; bans from a time
    /// when a channel was private apply again when it becomes private.
    ///
    /// - Parameter caller: The user who receives the error, if it is not `user`.
    /// - Throws: `banned`.
    func checkIsNotBanned(
        _ user: UserID, from conversations: [ConversationRow], now: Date, shownTo caller: UserID? = nil
    ) throws {
        for conversation in conversations where conversation.flags.contains(.bans) && !conversation.isPublicChannel {
            if let ban = try ban(of: user, in: conversation.number)?.ban, ban.isActive(at: now) {
                throw ban.refusal(from: "\(conversation.id)", now: now, shownTo: caller ?? user)
            }
        }
    }

    /// Checks that the caller can start a conversation whose name lists its users.
    ///
    /// - Throws: `blocked` if the other user has blocked the caller; `unknown-user` for the name of an erased user.
    func checkMayStart(_ id: ConversationID, by caller: Caller) throws {
        let names = id.namedUsers
        for user in names { try user.checkIsNotReplacement() }
        guard id.kind == .direct, !caller.isAdmin, names.contains(caller.user) else { return }
        for peer in names where peer != caller.user {
            if try hasBlocked(peer, caller.user) { throw ChatError(.blocked, "\(peer) has blocked you.") }
        }
    }
}

extension ConversationRow {
    /// Returns the other user of a direct conversation if they have blocked `user`.
    func blocker(of user: UserID) -> UserID? {
        guard !blocks.isEmpty else { return nil }
        return zip(id.namedUsers, [DirectBlocks.byFirst, .bySecond])
            .first { $0 != user && blocks.contains($1) }?.0
    }
}
