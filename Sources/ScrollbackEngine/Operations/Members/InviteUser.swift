import ScrollbackModel
package import ScrollbackWire

extension InviteUser: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<Answer>) {
        context.engine.invite(user, to: conversation, expiresIn: lifetime, by: context.caller) { result in
            completion(result.map { Answer($0.invitation, isNew: $0.isNew) })
        }
    }
}
