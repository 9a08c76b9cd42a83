package import ScrollbackModel
package import ScrollbackWire

extension ClearConversation: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<ReadSummary>) {
        context.engine.clear(conversation, through: seq, epoch: epoch, by: context.caller, completion: completion)
    }
}
