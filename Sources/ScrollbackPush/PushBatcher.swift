import ScrollbackEngine
import Synchronization

/// A push that may share a request with others.
protocol BatchablePush: Sendable {
    /// What the service's answer names it by: no two in a request have the same.
    var name: String { get }
    /// Its bytes, before a form encodes them.
    var size: Int { get }
}

/// Sends pushes together that come while requests are under way.
///
/// The first goes at once and alone: nobody waits for company. What comes while as many requests as may be are under way goes with the
/// next one, so that the slower a service is, the fewer requests it gets. Whose turn does not come is to be tried later, as where there
/// is no answer. A request is sent by the task of one of its pushes, and ends with it where that is cancelled.
final class PushBatcher<Push: BatchablePush>: Sendable {
    private enum Turn {
        /// It is to send these besides its own.
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

    /// - Parameters:
    ///   - atOnce: how many requests are under way at most.
    ///   - pushes: how many pushes a request has at most.
    ///   - bytes: how many bytes it has at most, where it has several pushes.
    ///   - patience: for how long a push waits for its turn.
    ///   - post: sends some, and says for each what came of it, in their order.
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

    /// Lets who waits longest send what waits, if anything does.
    private func passOn() {
        let late = state.withLock { state in
            let earliest = ContinuousClock.now - patience
            let late = state.waiting.prefix { $0.since < earliest }
            state.waiting.removeFirst(late.count)
            return late
        }
        for one in late { one.turn.resume(returning: .answered(.later(after: nil, "its turn did not come"))) }
        let next = state.withLock { state -> (leader: Waiting, others: [Waiting])? in
            guard let leader = state.waiting.first else {
                state.underWay -= 1
                return nil
            }
            var (names, bytes) = (Set([leader.push.name]), leader.push.size)
            var others: [Waiting] = []
            var left: [Waiting] = []
            for waiting in state.waiting.dropFirst() {
                // Who has to wait is not overtaken by another of the same name.
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
