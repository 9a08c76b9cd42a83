import ScrollbackModel
package import ScrollbackWire

extension AddAction: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<Answer>) {
        context.engine.addAction(
            to: id, in: conversation, type: action.type, value: action.value, operation: operation, by: context.caller,
            since: context.erasureCount
        ) { completion($0.map { Answer(action: $0) }) }
    }
}
