import ScrollbackModel
import Synchronization

/// A write that waits in the queue.
///
/// The type is not generic over the answer, because Swift would then look up types at run time for each write. Only its
/// closures know the answer's type.
final class QueuedWrite: Sendable {
    let footprints: [Footprint]
    /// Runs the write, and returns a closure that completes it with its answer.
    private let body: @Sendable (Transaction) throws -> @Sendable () -> Void
    private let fail: @Sendable (ChatError) -> Void
    /// Completes the write with its answer; `nil` until the write has run.
    private let complete = Mutex<(@Sendable () -> Void)?>(nil)

    init<Answer: Sendable>(
        footprints: [Footprint], body: @escaping @Sendable (Transaction) throws -> Answer,
        completion: @escaping @Sendable (Result<Answer, ChatError>) -> Void
    ) {
        self.footprints = footprints
        self.body = { transaction in
            let result: Result<Answer, ChatError>
            do {
                result = .success(try body(transaction))
            } catch let refusal as Refusal {
                result = .failure(refusal.error)
            } catch let refusal as ChatError where refusal.status < 500 || refusal.code == .overloaded {
                // A check failed before anything changed, or the moderation webhook was unavailable.
                result = .failure(refusal)
            }
            return { completion(result) }
        }
        fail = { completion(.failure($0)) }
    }

    /// Runs the write; throws only errors that must roll back the whole transaction.
    func run(in transaction: Transaction) throws {
        let answered = try body(transaction)
        complete.withLock { $0 = answered }
    }

    /// Completes the write with `failure`, or with the result of `run` if `failure` is `nil`.
    func finish(_ failure: ChatError?) {
        if let failure { return fail(failure) }
        guard let complete = complete.withLock({ $0 }) else {
            return fail(ChatError(.internalError, "The server did not run the change."))
        }
        complete()
    }
}
