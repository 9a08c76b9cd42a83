import ScrollbackModel
package import ScrollbackWire

extension PutMember: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<Answer>) {
        context.engine.putMember(
            user, role: role, mute: mute, of: conversation, operation: operation, by: context.caller
        ) { result in
            completion(result.map { Answer(isNew: $0, user: user) })
        }
    }
}
