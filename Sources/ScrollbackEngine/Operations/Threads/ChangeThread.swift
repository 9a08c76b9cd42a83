import ScrollbackModel
package import ScrollbackWire

extension ChangeThread: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> Answer {
        try transaction.change(
            thread, in: conversation.logID.absolute(for: context.caller.user), change, by: context.caller,
            permissions: context.permissions)
    }
}
