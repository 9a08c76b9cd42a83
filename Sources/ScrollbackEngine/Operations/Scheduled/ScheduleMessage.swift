import ScrollbackModel
package import ScrollbackWire

extension ScheduleMessage: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> EmptyAnswer {
        try transaction.schedule(
            submission, to: conversation, at: sendAt, by: context.caller.user, permissions: context.permissions)
        return EmptyAnswer()
    }
}
