import Dispatch
package import ScrollbackEngine
package import ScrollbackModel
import Synchronization

extension Engine {
    /// Waits for the completion of a call, which runs before the call returns or on another thread.
    package static func result<Answer: Sendable>(
        of call: (@escaping Completion<Answer>) -> Void
    ) throws(ChatError) -> Answer {
        let answer = Mutex<Result<Answer, ChatError>?>(nil)
        let group = DispatchGroup()
        group.enter()
        call { result in
            answer.withLock { $0 = result }
            group.leave()
        }
        group.wait()
        guard let result = answer.withLock({ $0 }) else { preconditionFailure("The call has no result.") }
        return try result.get()
    }
}
