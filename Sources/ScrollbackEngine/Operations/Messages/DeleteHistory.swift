import ScrollbackModel
package import ScrollbackWire

extension DeleteHistory: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<Answer>) {
        context.engine.delete(range, of: conversation, operation: operation, by: context.caller) { result in
            if case .success = result { context.startCleanup() }
            completion(result.map { Answer(count: $0) })
        }
    }
}
