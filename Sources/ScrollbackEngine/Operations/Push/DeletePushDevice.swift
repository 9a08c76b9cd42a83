import ScrollbackModel
package import ScrollbackWire

extension DeletePushDevice: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<EmptyAnswer>) {
        let caller = context.caller
        context.engine.dropPushDevice(device, of: caller.user, by: caller) { completion($0.map { EmptyAnswer() }) }
    }
}
