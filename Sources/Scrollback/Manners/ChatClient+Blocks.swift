public import ScrollbackModel
import ScrollbackWire

extension ChatClient {
    /// Lets somebody write to this user no more.
    ///
    /// Their direct messages are refused, and this user does not hear that they type. In groups, communities and rooms
    /// they are heard all the same.
    ///
    /// - Throws: `invalid-parameter` for this user themselves; `unreachable` or `timeout` when the server can't be asked.
    public func block(_ user: UserID) async throws(ChatError) {
        _ = try await core.request(.block(user, isOn: true))
    }

    /// Lets somebody write to this user again; who was not blocked, is not.
    ///
    /// - Throws: `unreachable` or `timeout` when the server can't be asked.
    public func unblock(_ user: UserID) async throws(ChatError) {
        _ = try await core.request(.block(user, isOn: false))
    }

    /// Everybody this user has blocked, by name.
    ///
    /// - Throws: `unreachable` or `timeout` when the server can't be asked.
    public func blockedUsers() async throws(ChatError) -> [UserID] {
        try await core.all { page throws(ChatError) in
            .blocks(after: try page?.after(), limit: Limits.standard.pageSize)
        }
    }
}
