package import ScrollbackModel
package import ScrollbackWire

/// An operation whose execution is one ``StateChange``.
package protocol StateExecutable: StateOperation, Executable {}

extension StateExecutable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<ReadSummary>) {
        context.engine.change(conversation, change, by: context.caller, completion: completion)
    }
}
