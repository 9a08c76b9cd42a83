import ScrollbackModel
package import ScrollbackWire

extension RemoveMember: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<Done>) {
        context.engine.removeMember(user, from: conversation, by: context.caller) { completion($0.map { Done() }) }
    }
}
