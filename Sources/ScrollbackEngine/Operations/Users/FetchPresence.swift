import ScrollbackModel
package import ScrollbackWire

extension FetchPresence: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<Answer>) {
        if let session = context.session {
            return session.presence(of: users, isOn: isOn, by: context.caller) { completion($0.map(Answer.init)) }
        }
        context.offload {
            completion(
                Result { Answer(list: try context.engine.presence(of: users, by: context.caller)) }
                    .mapError(ChatError.init(wrapping:)))
        }
    }
}
