package import ScrollbackWire

extension DeletePushDevice: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> EmptyAnswer {
        try transaction.dropPushDevice(device, of: context.caller.user)
        return EmptyAnswer()
    }
}
