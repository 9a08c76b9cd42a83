import Foundation
import ScrollbackModel

extension StoreReader {
    /// Checks that bans, mutes, blocks and freezes allow a user to write in a conversation.
    ///
    /// The role must already have been checked. Mutes, bans and freezes of a channel's community apply to the channel.
    /// Administrators may always write; moderators and owners may write in a frozen conversation.
    ///
    /// - Parameters:
    ///   - role: The caller's role; `nil` if the caller is not a member.
    ///   - community: The community of a channel.
    /// - Throws: `blocked`, `banned` or `muted`.
    func checkMayWrite(
        _ caller: Caller, in row: ConversationRow, role: Role?, community: ConversationRow?, now: Date
    ) throws {
        guard !caller.isAdmin else { return }
        if let blocker = row.blocker(of: caller.user) { throw ChatError(.blocked, "\(blocker) has blocked you.") }
        let places = [row] + (community.map { [$0] } ?? [])
        try checkIsNotBanned(caller.user, from: places, now: now)
        for place in places {
            if place.isFrozen, role ?? .member < .moderator {
                throw ChatError(.muted, "\(place.id) is frozen. Only its moderators and owners may write there.")
            }
            if place.hasMutes, let mute = try mute(of: caller.user, in: place.number), mute.isActive(at: now) {
                guard case .until(let date) = mute else {
                    throw ChatError(.muted, "You can't write in \(place.id), because you are muted there.")
                }
                throw ChatError(
                    .muted, "You can't write in \(place.id) before \(date.iso8601), because you are muted there.",
                    retryAfter: date.timeIntervalSince(now))
            }
        }
    }

    /// Performs the check of ``checkMayWrite(_:in:role:community:now:)`` with the role from `access`.
    func checkMayWrite(_ caller: Caller, _ access: Access, now: Date) throws {
        try checkMayWrite(
            caller, in: access.conversation, role: access.role, community: access.community, now: now)
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

extension Engine {
    /// Checks that the caller may send a message to a conversation.
    ///
    /// The result is based on one snapshot; a later send can still be refused.
    ///
    /// - Returns: The caller's access, or `nil` if the first message will create the conversation.
    /// - Throws: The error that sending a message would throw.
    func checkMaySend(in name: ConversationID, by caller: Caller, _ store: any StoreReader) throws -> Access? {
        let row = try store.conversation(name)
        var isNew = row?.isDeleted ?? true
        // The conversation counts as new for two users: one who reuses the name of an erased user, and one who has not
        // received a message there yet.
        if let row, row.flags.contains(.missingParticipant),
            try store.member(caller.user, of: row.number)?.standing != .member
        {
            isNew = true
        }
        if isNew, name.kind.traits.isImplicit, caller.isAdmin || name.namedUsers.contains(caller.user) {
            try store.checkMayStart(name, by: caller)
            return nil
        }
        let access = try access(to: name, for: caller, in: store)
        try permissions.require(.send, in: name, as: access.role, by: caller, to: "send messages")
        try store.checkMayWrite(caller, access, now: clock())
        return access
    }
}

extension Transaction {
    /// Performs the check of ``StoreReader/checkMayWrite(_:in:role:community:now:)``, including uncommitted rows of
    /// this batch.
    func checkMayWrite(_ caller: Caller, in row: ConversationRow, role: Role?) throws {
        let community = row.id.isCommunityRoot ? nil : try row.id.community.flatMap { try conversation($0) }
        try store.checkMayWrite(caller, in: row, role: role, community: community, now: now.date)
    }
}
