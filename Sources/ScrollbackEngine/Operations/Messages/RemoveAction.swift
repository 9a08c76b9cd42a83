import ScrollbackModel
package import ScrollbackWire

extension RemoveAction: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<EmptyAnswer>) {
        context.engine.removeAction(from: id, action, in: conversation, operation: operation, by: context.caller) {
            completion($0.map { EmptyAnswer() })
        }
    }
}
