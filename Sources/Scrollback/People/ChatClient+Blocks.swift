public import ScrollbackModel
import ScrollbackWire

extension ChatClient {
    /// Blocks a user from sending direct messages to this user.
    ///
    /// The server rejects the blocked user's direct messages and hides their typing signals from this user. Their
    /// messages in groups, communities and rooms still arrive.
    ///
    /// - Throws: `invalid-parameter` if `user` is this user. `unreachable` or `timeout`.
    public func block(_ user: UserID) async throws(ChatError) {
        _ = try await core.perform(BlockUser(user: user))
    }

    /// Unblocks a user.
    ///
    /// Has no effect if the user is not blocked.
    ///
    /// - Throws: `unreachable` or `timeout`.
    public func unblock(_ user: UserID) async throws(ChatError) {
        _ = try await core.perform(UnblockUser(user: user))
    }

    /// Returns all users that this user has blocked, sorted by ID.
    ///
    /// - Throws: `unreachable` or `timeout`.
    public func blockedUsers() async throws(ChatError) -> [UserID] {
        try await core.all { ListBlockedUsers(page: $0) }
    }
}
