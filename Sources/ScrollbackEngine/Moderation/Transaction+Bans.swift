import Foundation
import ScrollbackModel

extension StoreReader {
    /// Checks that a user is not banned from any of the given conversations.
    ///
    /// The check reads bans only of conversations that ever had a ban. Public channels ignore bans; bans from a time
    /// when a channel was private apply again when it becomes private.
    ///
    /// - Parameters:
    ///   - user: The user to check.
    ///   - places: A conversation, and the community if it is a channel.
    ///   - now: The current time.
    ///   - caller: The user who receives the error, if it is not `user`.
    /// - Throws: `banned`.
    func checkIsNotBanned(
        _ user: UserID, from places: [ConversationRow], now: Date, shownTo caller: UserID? = nil
    ) throws {
        for place in places where place.flags.contains(.bans) && !place.isPublicChannel {
            if let ban = try ban(of: user, in: place.number)?.ban, ban.isActive(at: now) {
                throw ban.refusal("\(place.id)", now: now, shownTo: caller ?? user)
            }
        }
    }
}

extension Transaction {
    /// Checks a user as ``StoreReader/checkIsNotBanned(_:from:now:shownTo:)`` does, including uncommitted rows of this
    /// batch.
    func checkIsNotBanned(_ user: UserID, from row: ConversationRow, shownTo caller: UserID? = nil) throws {
        let community = row.id.isCommunityRoot ? nil : try row.id.community.flatMap { try conversation($0) }
        try store.checkIsNotBanned(
            user, from: [row] + (community.map { [$0] } ?? []), now: now.date, shownTo: caller)
    }
}
