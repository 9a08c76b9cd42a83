import ScrollbackModel
package import ScrollbackWire

extension UnblockUser: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> EmptyAnswer {
        let caller = context.caller.user
        try checkIsNotSelf(user, caller, to: "unblock")
        try transaction.putBlock(of: user, by: caller, isOn: false)
        return EmptyAnswer()
    }

    package func didCommit(_ context: OperationContext) {
        context.engine.blockChanged(between: context.caller.user, and: user)
    }
}
