import ScrollbackModel
package import ScrollbackWire
import Synchronization

extension SetActivity: ConnectionOperation {
    package func execute(
        on session: Session, _ context: OperationContext, completion: @escaping Engine.Completion<Done>
    ) {
        session.state.withLock { $0.isActive = isActive }
        if isActive { context.offload { session.isHere() } } else { session.isGone() }
        completion(.success(Done()))
    }
}
