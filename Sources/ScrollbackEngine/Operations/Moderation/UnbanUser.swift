import ScrollbackModel
package import ScrollbackWire

extension UnbanUser: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> EmptyAnswer {
        let row = try transaction.conversationWithBans(
            conversation.absolute(for: context.caller.user), by: context.caller, permissions: context.permissions)
        try transaction.store.dropBan(of: user, in: row.number)
        return EmptyAnswer()
    }
}
