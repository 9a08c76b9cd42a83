import ScrollbackModel
package import ScrollbackWire

extension SignalTyping: ConnectionOperation {
    package func execute(
        on session: Session, _ context: OperationContext, completion: @escaping Engine.Completion<EmptyAnswer>
    ) {
        context.offload {
            let result = Result {
                try session.typing(in: conversation, isTyping: isTyping, context.caller, context.engine)
            }
            completion(result.map { EmptyAnswer() }.mapError(ChatError.init(wrapping:)))
        }
    }
}
