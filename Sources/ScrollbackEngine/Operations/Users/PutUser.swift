import ScrollbackModel
package import ScrollbackWire

extension PutUser: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<ProfileAnswer>) {
        let (engine, caller) = (context.engine, context.caller)
        engine.putUser(user, change, by: caller, since: context.erasureCount) { result in
            switch result {
            case .success(let profile):
                context.offload {
                    completion(
                        Result {
                            ProfileAnswer(profile: profile, own: try engine.ownSettings(of: user, by: caller))
                        }.mapError(ChatError.init(wrapping:)))
                }
            case .failure(let error): completion(.failure(error))
            }
        }
    }
}
