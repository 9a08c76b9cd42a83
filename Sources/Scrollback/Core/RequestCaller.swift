import Synchronization

/// The task that waits for the answer to a request.
///
/// The driver doesn't send a request if its task is cancelled first.
final class RequestCaller: Sendable {
    private let cancellation = Atomic<Bool>(false)

    /// Whether the task was cancelled while it waited.
    var isCancelled: Bool { cancellation.load(ordering: .acquiring) }

    /// Records that the task was cancelled.
    func cancel() { cancellation.store(true, ordering: .releasing) }
}
