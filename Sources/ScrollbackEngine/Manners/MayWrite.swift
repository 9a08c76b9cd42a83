import Foundation
import ScrollbackModel

extension StoreReader {
    /// Refuses whoever may not write in a conversation now, though by their role they might: they were muted there, or in its
    /// community; it is frozen, or its community is; the other person has blocked them.
    ///
    /// Administrators always may; moderators and owners where it is frozen.
    ///
    /// - Parameters:
    ///   - role: the writer's, absent for who is no member.
    ///   - community: of a channel.
    /// - Throws: `blocked`, `banned` or `muted`.
    func checkMayWrite(
        _ caller: Caller, in row: ConversationRow, role: Role?, community: ConversationRow?, now: Date
    ) throws {
        guard !caller.isAdmin else { return }
        if let blocker = row.blocker(of: caller.user) { throw ChatError(.blocked, "\(blocker) has blocked you") }
        let places = [row] + (community.map { [$0] } ?? [])
        try checkIsNotBanned(caller.user, from: places, now: now)
        for place in places {
            if place.isFrozen, role ?? .member < .moderator {
                throw ChatError(.muted, "\(place.id) is frozen: its moderators and owners may write there, nobody else")
            }
            if place.hasMutes, let mute = try mute(of: caller.user, in: place.number), mute.holds(at: now) {
                guard case .until(let date) = mute else {
                    throw ChatError(.muted, "you may not write in \(place.id): you were muted there")
                }
                throw ChatError(
                    .muted, "you may not write in \(place.id) before \(date.iso8601): you were muted there",
                    retryAfter: date.timeIntervalSince(now))
            }
        }
    }

    /// As ``checkMayWrite(_:in:role:community:now:)``, of what somebody may see.
    func checkMayWrite(_ caller: Caller, _ access: Access, now: Date) throws {
        try checkMayWrite(
            caller, in: access.conversation, role: access.role, community: access.community, now: now)
    }

    /// Of a direct conversation that its first message will make.
    ///
    /// - Throws: `blocked` when the other person has blocked the caller.
    func checkIsNotBlocked(_ caller: Caller, in id: ConversationID) throws {
        let names = id.namedUsers
        guard id.kind == .direct, !caller.isAdmin, names.contains(caller.user) else { return }
        for peer in names where peer != caller.user {
            if try hasBlocked(peer, caller.user) { throw ChatError(.blocked, "\(peer) has blocked you") }
        }
    }
}

extension ConversationRow {
    /// The other person of a direct conversation, if they have blocked one.
    func blocker(of user: UserID) -> UserID? {
        guard !blocks.isEmpty else { return nil }
        return zip(id.namedUsers, [DirectBlocks.byFirst, .bySecond])
            .first { $0 != user && blocks.contains($1) }?.0
    }
}

extension Engine {
    /// - Returns: what they may see there; nothing of a conversation that its first message will make.
    /// - Throws: what a message there would be refused with, as far as one look at the store tells.
    func checkMaySend(in name: ConversationID, by caller: Caller, _ store: any StoreReader) throws -> Access? {
        let row = try store.conversation(name)
        var isNew = row?.isDeleted ?? true
        // Made anew for who uses the name of somebody who was erased, and for whom nothing was said to yet.
        if let row, row.marks.contains(.lostPerson),
            try store.member(caller.user, of: row.number)?.standing != .member
        {
            isNew = true
        }
        if isNew, name.kind.traits.isImplicit, caller.isAdmin || name.namedUsers.contains(caller.user) {
            try store.checkIsNotBlocked(caller, in: name)
            return nil
        }
        let access = try access(to: name, for: caller, in: store)
        guard permissions[.send, name.kind].isMet(by: access.role, isAdmin: caller.isAdmin) else {
            throw ChatError(.forbidden, "sending to \(name) takes more than you are there")
        }
        try store.checkMayWrite(caller, access, now: clock())
        return access
    }
}

extension Transaction {
    /// As ``StoreReader/checkMayWrite(_:in:role:community:now:)``, over the rows as this batch left them.
    func checkMayWrite(_ caller: Caller, in row: ConversationRow, role: Role?) throws {
        let community = row.id.isCommunityItself ? nil : try row.id.community.flatMap { try conversation($0) }
        try store.checkMayWrite(caller, in: row, role: role, community: community, now: now.date)
    }
}
