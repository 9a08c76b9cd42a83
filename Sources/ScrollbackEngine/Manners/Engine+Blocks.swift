package import ScrollbackModel
package import ScrollbackWire

extension Engine {
    /// Lets somebody write to the caller no more, or again.
    ///
    /// A direct message of theirs is refused; in groups, communities and rooms they are heard all the same, but for what is
    /// not said to anybody: that they are typing.
    package func block(_ user: UserID, isOn: Bool, by caller: Caller, completion: @escaping Completion<Void>) {
        guard user != caller.user else {
            return completion(.failure(.invalidParameter("user", "must be somebody else: nobody blocks themselves")))
        }
        log.submit({ try $0.store.putBlock(of: user, by: caller.user, isOn: isOn) }, completion: completion)
    }

    /// Whom the caller has blocked, by name: at most `limit` after `after`.
    package func blocked(by caller: Caller, after: UserID?, limit: Int) throws -> BlockedUsers {
        guard (1...limits.pageSize).contains(limit) else {
            throw ChatError.invalidParameter("limit", "must be in 1...\(limits.pageSize)", limit: limits.pageSize)
        }
        let users = try store.read { try $0.blocked(by: caller.user, after: after, limit: limit + 1) }
        return BlockedUsers(
            users: Array(users.prefix(limit)), cursor: users.count > limit ? users[limit - 1] : nil)
    }
}
