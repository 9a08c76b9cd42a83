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
        case leads([Waiting])
        case answered(PushOutcome)
    }

    private struct Waiting: Sendable {
        var push: Push
        let since = ContinuousClock.now
        var turn: CheckedContinuation<Turn, Never>
    }

    private struct State {
        var waiting: [Waiting] = []
        var underWay = 0
    }

    private let limits: (atOnce: Int, pushes: Int, bytes: Int)
    private let patience: Duration
    private let post: @Sendable ([Push]) async -> [PushOutcome]
    private let state = Mutex(State())

    /// Creates a batcher.
    ///
    /// - Parameters:
    ///   - atOnce: The maximum number of concurrent requests.
    ///   - pushes: The maximum number of pushes in a request.
    ///   - bytes: The maximum size in bytes of a request with several pushes.
    ///   - patience: How long a push may wait for its request.
    ///   - post: Sends pushes and returns their outcomes in the same order.
    init(
        atOnce: Int, pushes: Int, bytes: Int, patience: Duration = .seconds(20),
        post: @escaping @Sendable (_ pushes: [Push]) async -> [PushOutcome]
    ) {
        limits = (atOnce, pushes, bytes)
        self.patience = patience
        self.post = post
    }

    func send(_ push: Push) async -> PushOutcome {
        let turn = await withCheckedContinuation { continuation in
            let begins = state.withLock { state in
                guard state.underWay == limits.atOnce else {
                    state.underWay += 1
                    return true
                }
                state.waiting.append(Waiting(push: push, turn: continuation))
                return false
            }
            if begins { continuation.resume(returning: Turn.leads([])) }
        }
        switch turn {
        case .answered(let outcome): return outcome
        case .leads(let others):
            let outcomes = await post([push] + others.map(\.push))
            for (other, outcome) in zip(others, outcomes.dropFirst()) {
                other.turn.resume(returning: .answered(outcome))
            }
            passOn()
            return outcomes[0]
        }
    }

    /// Starts the next request with the longest waiting push, if any pushes wait.
    private func passOn() {
        let late = state.withLock { state in
            let earliest = ContinuousClock.now - patience
            let late = state.waiting.prefix { $0.since < earliest }
            state.waiting.removeFirst(late.count)
            return late
        }
        for one in late { one.turn.resume(returning: .answered(.later(after: nil, "timed out waiting for a request"))) }
        let next = state.withLock { state -> (leader: Waiting, others: [Waiting])? in
            guard let leader = state.waiting.first else {
                state.underWay -= 1
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
        if let next { next.leader.turn.resume(returning: .leads(next.others)) }
    }
}
