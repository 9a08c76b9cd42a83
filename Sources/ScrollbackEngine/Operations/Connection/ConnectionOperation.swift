import ScrollbackModel
package import ScrollbackWire

/// An operation on the connection that the request came over.
package protocol ConnectionOperation: Executable {
    /// Starts the operation, under the same rules as ``Executable/execute(_:completion:)``.
    func execute(on session: Session, _ context: OperationContext, completion: @escaping Engine.Completion<Answer>)
}

extension ConnectionOperation {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<Answer>) {
        guard let session = context.session else {
            let error = ChatError(
                .unknownOperation, "Only WebSocket connections have the request \"\(Self.name)\".",
                parameter: "type")
            return completion(.failure(error))
        }
        execute(on: session, context, completion: completion)
    }
}
