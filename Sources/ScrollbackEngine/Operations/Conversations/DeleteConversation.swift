import ScrollbackModel
package import ScrollbackWire

extension DeleteConversation: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<EmptyAnswer>) {
        context.engine.deleteConversation(conversation, by: context.caller) { completion($0.map { EmptyAnswer() }) }
    }
}
