import ScrollbackModel
package import ScrollbackWire

extension SetPushPreferences: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<Answer>) {
        let (caller, change) = (context.caller, ProfileChange(push: change))
        context.engine.putUser(caller.user, change, by: caller, since: context.erasureCount) { result in
            switch result {
            case .success: GetPushPreferences().execute(context, completion: completion)
            case .failure(let error): completion(.failure(error))
            }
        }
    }
}
