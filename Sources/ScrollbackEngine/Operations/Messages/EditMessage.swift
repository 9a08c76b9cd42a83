import ScrollbackModel
package import ScrollbackWire

extension EditMessage: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<Answer>) {
        context.engine.edit(
            id, in: conversation, edit, operation: operation, by: context.caller,
            origin: context.session.map { Origin($0) }
        ) { completion($0.map { Answer(message: $0) }) }
    }
}
