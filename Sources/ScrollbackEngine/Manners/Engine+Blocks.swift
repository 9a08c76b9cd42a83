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
        log.submit(
            { transaction in
                if isOn, try !transaction.store.hasBlocked(caller.user, user) {
                    let blocked = try transaction.store.blocked(by: caller.user, after: nil, limit: Self.mostBlocked)
                    guard blocked.count < Self.mostBlocked else {
                        throw ChatError.invalidParameter(
                            "user", "can't be one more: you have blocked \(Self.mostBlocked) already",
                            limit: Self.mostBlocked)
                    }
                }
                try transaction.putBlock(of: user, by: caller.user, isOn: isOn)
            },
            completion: { [self] result in
                if case .success = result { tellPresence(between: caller.user, and: user) }
                completion(result)
            })
    }

    /// The most people somebody can have blocked.
    package static let mostBlocked = 1000

    /// Whom the caller has blocked, by name: at most `limit` after `after`.
    package func blocked(by caller: Caller, after: UserID?, limit: Int) throws -> ListPage<UserID> {
        try checkLimit(limit)
        let users = try store.read { try $0.blocked(by: caller.user, after: after, limit: limit + 1) }
        return ListPage(Array(users.prefix(limit)), after: users.count > limit ? users[limit - 1] : nil)
    }
}

extension Transaction {
    /// Writes down that somebody has blocked another, or no more, in the row of their conversation too.
    fileprivate func putBlock(of other: UserID, by user: UserID, isOn: Bool) throws {
        try store.putBlock(of: other, by: user, isOn: isOn)
        guard var row = try conversation(.direct(between: user, and: other)) else { return }
        row.blocks = try blocks(in: row.id)
        try put(row, isNews: false)
    }

    /// Who has blocked whom of a direct conversation's two people.
    func blocks(in id: ConversationID) throws -> DirectBlocks {
        let names = id.namedUsers
        guard id.kind == .direct, let first = names.first, let second = names.last, first != second else { return [] }
        var blocks: DirectBlocks = []
        if try store.hasBlocked(first, second) { blocks.insert(.byFirst) }
        if try store.hasBlocked(second, first) { blocks.insert(.bySecond) }
        return blocks
    }
}
