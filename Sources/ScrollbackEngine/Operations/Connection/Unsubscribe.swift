import ScrollbackModel
package import ScrollbackWire

extension Unsubscribe: ConnectionOperation {
    package func execute(
        on session: Session, _ context: OperationContext, completion: @escaping Engine.Completion<EmptyAnswer>
    ) {
        for id in conversations { session.unsubscribe(from: id.logID.absolute(for: context.caller.user)) }
        completion(.success(EmptyAnswer()))
    }
}
