import DequeModule
import ScrollbackModel
import Synchronization

/// Lets what one connection says in one conversation into the log in the order it was said, though each has to wait for its
/// own while first.
///
/// What is said elsewhere, or by another connection, waits for nothing here.
final class Turnstile: Sendable {
    struct Lane: Hashable, Sendable {
        var session: Origin
        var conversation: ConversationID
    }

    typealias Step = @Sendable () -> Void

    /// How many may wait in all; beyond, what is said is refused.
    static let capacity = 1000

    private final class Ticket: Sendable {
        let step = Mutex<Step?>(nil)
    }

    private struct State {
        var lanes: [Lane: Deque<Ticket>] = [:]
        var draining: Set<Lane> = []
        var count = 0
        var whenEmpty: [Step] = []
    }

    private let state = Mutex(State())

    /// Whether something waits.
    var isEmpty: Bool { state.withLock { $0.count == 0 } }

    /// Takes a place in a lane, and gives what lets through what stands there once its turn has come.
    ///
    /// - Parameter lane: nothing for what follows on nothing.
    /// - Returns: nothing where too many wait already.
    func enter(_ lane: Lane?) -> (@Sendable (@escaping Step) -> Void)? {
        let ticket = Ticket()
        let isTaken = state.withLock { state in
            guard state.count < Self.capacity else { return false }
            state.count += 1
            if let lane { state.lanes[lane, default: []].append(ticket) }
            return true
        }
        guard isTaken else { return nil }
        return { [self] step in
            guard let lane else {
                step()
                return left(1)
            }
            ticket.step.withLock { $0 = step }
            drain(lane)
        }
    }

    /// Calls back once nothing waits that waits now.
    func whenEmpty(_ step: @escaping Step) {
        let isEmpty = state.withLock { state in
            if state.count > 0 { state.whenEmpty.append(step) }
            return state.count == 0
        }
        if isEmpty { step() }
    }

    /// Lets through those in front that may go; one thread at a time, so that their order stays.
    private func drain(_ lane: Lane) {
        guard state.withLock({ $0.draining.insert(lane).inserted }) else { return }
        while let step = next(lane) {
            step()
            left(1)
        }
    }

    private func next(_ lane: Lane) -> Step? {
        state.withLock { state in
            guard let first = state.lanes[lane]?.first, let step = first.step.withLock({ $0 }) else {
                state.draining.remove(lane)
                if state.lanes[lane]?.isEmpty == true { state.lanes[lane] = nil }
                return nil
            }
            state.lanes[lane]?.removeFirst()
            return step
        }
    }

    private func left(_ count: Int) {
        let waiting: [Step] = state.withLock { state in
            state.count -= count
            guard state.count == 0 else { return [] }
            defer { state.whenEmpty = [] }
            return state.whenEmpty
        }
        for step in waiting { step() }
    }
}
