import ScrollbackModel
package import ScrollbackWire

extension EndInvitation: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<EmptyAnswer>) {
        context.engine.endInvitation(of: user, to: conversation, by: context.caller) {
            completion($0.map { EmptyAnswer() })
        }
    }
}
