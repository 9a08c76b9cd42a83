package import ScrollbackModel
package import ScrollbackWire

extension SendMessage: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<SendResult>) {
        context.engine.send(
            submission, to: conversation, by: context.caller, origin: context.session.map { Origin($0) },
            since: context.erasureCount, completion: completion)
    }
}
