import ScrollbackModel
package import ScrollbackWire
import Synchronization

extension SetActivity: ConnectionOperation {
    package func execute(
        on session: Session, _ context: OperationContext, completion: @escaping Engine.Completion<EmptyAnswer>
    ) {
        session.state.withLock { $0.isActive = isActive }
        if isActive { context.offload { session.reportOnline() } } else { session.reportOffline() }
        context.engine.connectionsChanged(of: context.caller.user)
        completion(.success(EmptyAnswer()))
    }
}
