public import Foundation
public import ScrollbackModel
import ScrollbackWire

extension Conversation {
    /// Bans a user: removes them from the conversation and prevents them from returning until the ban ends.
    ///
    /// Banning requires the moderator role, and a role above the user's. In rooms it requires the administrator role. A
    /// ban from a community or its default channel applies to all channels of the community. A new ban replaces an
    /// existing one.
    ///
    /// - Parameters:
    ///   - user: The user to ban, member or not; not this user.
    ///   - until: The end of the ban, in the future; `nil` for a ban that must be lifted explicitly.
    ///   - reason: The reason that is shown to the banned user, 1...500 bytes of UTF-8.
    /// - Throws: `forbidden`. `invalid-parameter` for this user, a time in the past, or a reason that is empty or too
    ///   long. `invalid-parameter` also for a public channel, whose members are those of its community. `unreachable`
    ///   or `timeout`.
    public func ban(_ user: UserID, until: Date? = nil, reason: String? = nil) async throws(ChatError) {
        if let reason, !(1...Ban.reasonBytes).contains(reason.utf8.count) {
            throw .invalidParameter(
                "reason", "must be 1...\(Ban.reasonBytes) bytes of UTF-8", limit: Ban.reasonBytes)
        }
        _ = try await core.perform(BanUser(conversation: memberListID, user: user, until: until, reason: reason))
    }

    /// Lifts a ban.
    ///
    /// Has no effect if the user is not banned.
    ///
    /// The user does not become a member again: they must be added or invited.
    ///
    /// - Throws: `forbidden`. `unreachable` or `timeout`.
    public func unban(_ user: UserID) async throws(ChatError) {
        _ = try await core.perform(UnbanUser(conversation: memberListID, user: user))
    }

    /// Returns the current bans of this conversation, sorted by user ID.
    ///
    /// - Throws: `forbidden`. `unreachable` or `timeout`.
    public func bans() async throws(ChatError) -> [Ban] {
        try await core.all { ListBans(conversation: memberListID, page: $0) }
    }
}
