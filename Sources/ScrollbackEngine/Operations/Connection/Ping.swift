import ScrollbackModel
package import ScrollbackWire

extension Ping: ConnectionOperation {
    package func execute(
        on session: Session, _ context: OperationContext, completion: @escaping Engine.Completion<EmptyAnswer>
    ) {
        completion(.success(EmptyAnswer()))
    }
}
