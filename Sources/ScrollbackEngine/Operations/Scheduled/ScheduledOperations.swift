import ScrollbackModel
package import ScrollbackWire

extension ScheduleMessage: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> EmptyAnswer {
        try transaction.schedule(
            submission, to: conversation, at: sendAt, by: context.caller.user, permissions: context.permissions)
        return EmptyAnswer()
    }
}

extension ListScheduled: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        try engine.scheduledMessages(of: caller.user, page)
    }
}

extension CancelScheduled: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> EmptyAnswer {
        guard try transaction.cancelScheduled(id, of: context.caller.user) else {
            throw ChatError(
                .unknownMessage, "You have no scheduled message \(id). It may have been sent or cancelled.",
                parameter: "id")
        }
        return EmptyAnswer()
    }
}
