import ScrollbackModel
package import ScrollbackWire

extension PutConversation: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<Answer>) {
        context.engine.putConversation(
            conversation, settings, exists: exists, operation: operation, by: context.caller
        ) { result in
            if case .success = result, settings.retention != .keep { context.startCleanup() }
            completion(result.map { Answer(conversation: conversation, isNew: $0) })
        }
    }
}
