import ScrollbackEngine
import Synchronization

/// A push that can be sent in one request with others.
protocol BatchablePush: Sendable {
    /// The name by which the response identifies the push. It must be unique within a request.
    var name: String { get }
    /// The size in bytes before form encoding.
    var size: Int { get }
}

/// Combines pushes that arrive while earlier requests are in progress.
///
/// The first push is sent immediately and alone. When the maximum number of requests is in progress, new pushes wait
/// and share the next request. A slow service therefore gets fewer, larger requests.
///
/// A push that waits too long completes as `later`. The task of one push sends the request for all, so cancelling that
/// task cancels the request.
final class PushBatcher<Push: BatchablePush>: Sendable {
    private enum Turn {
        /// The push sends a request that also contains these pushes.
        case sendsRequest([Waiting])
        case answered(PushOutcome)
    }

    private struct Waiting: Sendable {
        var push: Push
        let since = ContinuousClock.now
        var turn: CheckedContinuation<Turn, Never>
    }

    private struct State {
        var waiting: [Waiting] = []
        var requestsInProgress = 0
    }

    private let limits: (maximumRequests: Int, pushes: Int, bytes: Int)
    private let timeout: Duration
    private let post: @Sendable ([Push]) async -> [PushOutcome]
    private let state = Mutex(State())

    /// Creates a batcher.
    ///
    /// - Parameters:
    ///   - maximumRequests: The maximum number of concurrent requests.
    ///   - pushes: The maximum number of pushes in a request.
    ///   - bytes: The maximum size in bytes of a request with several pushes.
    ///   - timeout: How long a push may wait for its request.
    ///   - post: Sends pushes and returns their outcomes in the same order.
    init(
        maximumRequests: Int, pushes: Int, bytes: Int, timeout: Duration = .seconds(20),
        post: @escaping @Sendable (_ pushes: [Push]) async -> [PushOutcome]
    ) {
        limits = (maximumRequests, pushes, bytes)
        self.timeout = timeout
        self.post = post
    }

    func send(_ push: Push) async -> PushOutcome {
        let turn = await withCheckedContinuation { continuation in
            let begins = state.withLock { state in
                guard state.requestsInProgress == limits.maximumRequests else {
                    state.requestsInProgress += 1
                    return true
                }
                state.waiting.append(Waiting(push: push, turn: continuation))
                return false
            }
            if begins { continuation.resume(returning: Turn.sendsRequest([])) }
        }
        switch turn {
        case .answered(let outcome): return outcome
        case .sendsRequest(let others):
            let outcomes = await post([push] + others.map(\.push))
            for (other, outcome) in zip(others, outcomes.dropFirst()) {
                other.turn.resume(returning: .answered(outcome))
            }
            startNextRequest()
            return outcomes[0]
        }
    }

    /// Starts the next request with the longest waiting push, if any pushes wait.
    private func startNextRequest() {
        let late = state.withLock { state in
            let earliest = ContinuousClock.now - timeout
            let late = state.waiting.prefix { $0.since < earliest }
            state.waiting.removeFirst(late.count)
            return late
        }
        for one in late { one.turn.resume(returning: .answered(.later(after: nil, "timed out waiting for a request"))) }
        let next = state.withLock { state -> (leader: Waiting, others: [Waiting])? in
            guard let leader = state.waiting.first else {
                state.requestsInProgress -= 1
                return nil
            }
            var (names, bytes) = (Set([leader.push.name]), leader.push.size)
            var others: [Waiting] = []
            var left: [Waiting] = []
            for waiting in state.waiting.dropFirst() {
                // Pushes with the same name keep their order.
                let isFirst = names.insert(waiting.push.name).inserted
                if isFirst, others.count + 1 < limits.pushes, bytes + waiting.push.size <= limits.bytes {
                    others.append(waiting)
                    bytes += waiting.push.size
                } else {
                    left.append(waiting)
                }
            }
            state.waiting = left
            return (leader, others)
        }
        if let next { next.leader.turn.resume(returning: .sendsRequest(next.others)) }
    }
}
