import ScrollbackModel
package import ScrollbackWire

extension PutPushDevice: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<Answer>) {
        let caller = context.caller
        context.engine.putPushDevice(device, of: caller.user, by: caller, since: context.erasureCount) { result in
            completion(result.map { Answer(device: $0) })
        }
    }
}
