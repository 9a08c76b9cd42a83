import ScrollbackModel
package import ScrollbackWire

extension RemoveMember: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<EmptyAnswer>) {
        context.engine.removeMember(user, from: conversation, operation: operation, by: context.caller) {
            completion($0.map { EmptyAnswer() })
        }
    }
}
