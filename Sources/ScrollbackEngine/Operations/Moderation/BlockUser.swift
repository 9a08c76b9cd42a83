import ScrollbackModel
package import ScrollbackWire

extension BlockUser: WriteOperation {
    /// How many users one user can block.
    package static let maximumBlocked = 1000

    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> EmptyAnswer {
        let caller = context.caller.user
        try checkIsNotSelf(user, caller, to: "block")
        if try !transaction.store.hasBlocked(caller, user) {
            let blocked = try transaction.store.blocked(by: caller, after: nil, limit: Self.maximumBlocked)
            guard blocked.count < Self.maximumBlocked else {
                throw ChatError.invalidParameter(
                    "user", "can't be blocked: you have blocked \(Self.maximumBlocked) users, which is the limit",
                    limit: Self.maximumBlocked)
            }
            try transaction.space.check(for: .protection)
        }
        try transaction.putBlock(of: user, by: caller, isOn: true)
        return EmptyAnswer()
    }

    package func didCommit(_ context: OperationContext) {
        context.engine.blockChanged(between: context.caller.user, and: user)
    }
}

/// Checks that users don't act on themselves.
///
/// - Parameter verb: What they do, for the error message.
/// - Throws: `invalid-parameter`.
func checkIsNotSelf(_ user: UserID, _ caller: UserID, to verb: String) throws(ChatError) {
    guard user != caller else {
        throw .invalidParameter("user", "must be another user: you can't \(verb) yourself")
    }
}

extension Transaction {
    /// Stores that a user has blocked another or not, in the row of their direct conversation too.
    func putBlock(of other: UserID, by user: UserID, isOn: Bool) throws {
        try store.putBlock(of: other, by: user, isOn: isOn)
        guard var row = try conversation(.direct(between: user, and: other)) else { return }
        row.blocks = try blocks(in: row.id)
        try put(row, isClientVisible: false)
    }

    /// Which of the two users of a direct conversation has blocked the other.
    func blocks(in id: ConversationID) throws -> DirectBlocks {
        let names = id.namedUsers
        guard id.kind == .direct, let first = names.first, let second = names.last, first != second else { return [] }
        var blocks: DirectBlocks = []
        if try store.hasBlocked(first, second) { blocks.insert(.byFirst) }
        if try store.hasBlocked(second, first) { blocks.insert(.bySecond) }
        return blocks
    }
}
