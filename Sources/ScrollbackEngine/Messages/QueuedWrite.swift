import ScrollbackModel
import Synchronization

/// A write that waits in the queue, whatever the type of its answer.
protocol QueuedWrite: AnyObject, Sendable {
    var footprints: [Footprint] { get }
    /// Runs the write; throws only errors that must roll back the whole transaction.
    func run(in transaction: Transaction) throws
    /// Completes the write with `failure`, or with the result of `run` if `failure` is `nil`.
    func finish(_ failure: ChatError?)
}

/// A write whose completion receives an answer of a certain type.
final class PendingWrite<Answer: Sendable>: QueuedWrite {
    let footprints: [Footprint]
    private let body: @Sendable (Transaction) throws -> Answer
    private let completion: @Sendable (Result<Answer, ChatError>) -> Void
    private let answer = Mutex<Result<Answer, ChatError>?>(nil)

    init(
        footprints: [Footprint], body: @escaping @Sendable (Transaction) throws -> Answer,
        completion: @escaping @Sendable (Result<Answer, ChatError>) -> Void
    ) {
        self.footprints = footprints
        self.body = body
        self.completion = completion
    }

    func run(in transaction: Transaction) throws {
        do {
            let value = try body(transaction)
            answer.withLock { $0 = .success(value) }
        } catch let refusal as Refusal {
            answer.withLock { $0 = .failure(refusal.error) }
        } catch let refusal as ChatError where refusal.status < 500 || refusal.code == .overloaded {
            // A check failed before anything changed, or the moderation webhook was unavailable.
            answer.withLock { $0 = .failure(refusal) }
        }
    }

    func finish(_ failure: ChatError?) {
        if let failure { return completion(.failure(failure)) }
        let result = answer.withLock { $0 } ?? .failure(ChatError(.internalError, "The server did not run the change."))
        completion(result)
    }
}
