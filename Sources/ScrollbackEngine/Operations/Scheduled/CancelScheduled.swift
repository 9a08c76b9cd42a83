import ScrollbackModel
package import ScrollbackWire

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
