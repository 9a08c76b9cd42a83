import ScrollbackModel
package import ScrollbackWire

extension ListThreads: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        try engine.threads(of: conversation, isFollowed: isFollowed, before: before, limit: limit, by: caller)
    }
}

extension ChangeThread: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> Answer {
        try transaction.change(
            thread, in: conversation.logID.absolute(for: context.caller.user), change, by: context.caller,
            permissions: context.permissions)
    }
}
