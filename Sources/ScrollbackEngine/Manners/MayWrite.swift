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
    /// - Throws: `blocked` or `muted`.
    func checkMayWrite(
        _ caller: Caller, in row: ConversationRow, role: Role?, community: ConversationRow?, now: Date
    ) throws {
        guard !caller.isAdmin else { return }
        try checkIsNotBlocked(caller, in: row.id)
        for place in [row] + (community.map { [$0] } ?? []) {
            if place.isFrozen, role ?? .member < .moderator {
                throw ChatError(.muted, "\(place.id) is frozen: its moderators and owners may write there, nobody else")
            }
            if let mute = try mute(of: caller.user, in: place.number), mute.holds(at: now) {
                guard case .until(let date) = mute else {
                    throw ChatError(.muted, "you may not write in \(place.id): you were muted there")
                }
                throw ChatError(
                    .muted, "you may not write in \(place.id) before \(date.iso8601): you were muted there",
                    retryAfter: date.timeIntervalSince(now))
            }
        }
    }

    /// - Throws: `blocked` when the other person of a direct conversation has blocked the caller.
    func checkIsNotBlocked(_ caller: Caller, in id: ConversationID) throws {
        guard id.kind == .direct, !caller.isAdmin else { return }
        for peer in id.namedUsers where peer != caller.user {
            if try hasBlocked(peer, caller.user) { throw ChatError(.blocked, "\(peer) has blocked you") }
        }
    }
}

extension Transaction {
    /// As ``StoreReader/checkMayWrite(_:in:role:community:now:)``, over the rows as this batch left them.
    func checkMayWrite(_ caller: Caller, in row: ConversationRow) throws {
        let community = row.id.isCommunityItself ? nil : try row.id.community.flatMap { try conversation($0) }
        try store.checkMayWrite(
            caller, in: row, role: role(of: caller.user, in: row), community: community, now: now.date)
    }
}
