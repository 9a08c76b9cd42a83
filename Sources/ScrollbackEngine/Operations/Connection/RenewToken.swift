import Foundation
import ScrollbackModel
package import ScrollbackWire
import Synchronization

extension RenewToken: ConnectionOperation {
    package func execute(
        on session: Session, _ context: OperationContext, completion: @escaping Engine.Completion<EmptyAnswer>
    ) {
        session.services.verify(token) { result in
            completion(
                result.flatMap { verified in
                    Result { () throws(ChatError) in
                        try session.replaceToken(verified.caller, expiresAt: verified.expiresAt, of: context.caller)
                        return EmptyAnswer()
                    }
                })
        }
    }
}

extension Session {
    /// Continues the connection with a new token.
    ///
    /// - Parameter current: The caller that the current token names.
    /// - Throws: `forbidden` when the new token belongs to another user or lacks the scope of a connection.
    fileprivate func replaceToken(
        _ caller: Caller, expiresAt: Date?, of current: Caller
    ) throws(ChatError) {
        guard caller.user == current.user else {
            throw ChatError(
                .forbidden, "The token belongs to another user. Use a token of \(current.user).", parameter: "token")
        }
        try AccessRule.connect.check(caller)
        state.withLock { state in
            guard case .open(_, let device, _) = state.phase else { return }
            state.phase = .open(caller: caller, device: device, expiresAt: expiresAt)
        }
    }
}
