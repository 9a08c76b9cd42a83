import DequeModule
package import ScrollbackModel
import Synchronization

/// Lets what one connection says in one conversation into the log in the order it was said, though each has to wait for its
/// own while first.
///
/// What is said elsewhere, or by another connection, waits for nothing here.
package final class Turnstile: Sendable {
    package struct Lane: Hashable, Sendable {
        var session: Origin
        var conversation: ConversationID

        package init(session: Origin, conversation: ConversationID) {
            self.session = session
            self.conversation = conversation
        }
    }

    package typealias Step = @Sendable () -> Void

    /// How many may wait in all; beyond, what is said is refused.
    package static let capacity = 1000

    private final class Ticket: Sendable {
        let number: Int
        let step = Mutex<Step?>(nil)

        init(number: Int) {
            self.number = number
        }
    }

    private struct State {
        var lanes: [Lane: Deque<Ticket>] = [:]
        var draining: Set<Lane> = []
        /// The tickets given so far, and of them those whose holders have not left.
        var given = 0
        var inside: Set<Int> = []
        var waiting: [(given: Int, step: Step)] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// Whether something waits.
    package var isEmpty: Bool { state.withLock { $0.inside.isEmpty } }

    /// Takes a place in a lane, and gives what lets through what stands there once its turn has come.
    ///
    /// - Parameter lane: nothing for what follows on nothing.
    /// - Returns: nothing where too many wait already.
    package func enter(_ lane: Lane?) -> (@Sendable (@escaping Step) -> Void)? {
        let ticket: Ticket? = state.withLock { state in
            guard state.inside.count < Self.capacity else { return nil }
            let ticket = Ticket(number: state.given)
            state.given += 1
            state.inside.insert(ticket.number)
            if let lane { state.lanes[lane, default: []].append(ticket) }
            return ticket
        }
        guard let ticket else { return nil }
        return { [self] step in
            guard let lane else {
                step()
                return left(ticket)
            }
            ticket.step.withLock { $0 = step }
            drain(lane)
        }
    }

    /// Calls back once nothing waits that waits now, whatever comes after it.
    package func whenEmpty(_ step: @escaping Step) {
        let isEmpty = state.withLock { state in
            if !state.inside.isEmpty { state.waiting.append((state.given, step)) }
            return state.inside.isEmpty
        }
        if isEmpty { step() }
    }

    /// Lets through those in front that may go; one thread at a time, so that their order stays.
    private func drain(_ lane: Lane) {
        guard state.withLock({ $0.draining.insert(lane).inserted }) else { return }
        while let (ticket, step) = next(lane) {
            step()
            left(ticket)
        }
    }

    private func next(_ lane: Lane) -> (Ticket, Step)? {
        state.withLock { state in
            guard let first = state.lanes[lane]?.first, let step = first.step.withLock({ $0 }) else {
                state.draining.remove(lane)
                if state.lanes[lane]?.isEmpty == true { state.lanes[lane] = nil }
                return nil
            }
            state.lanes[lane]?.removeFirst()
            return (first, step)
        }
    }

    private func left(_ ticket: Ticket) {
        let steps: [Step] = state.withLock { state in
            state.inside.remove(ticket.number)
            guard !state.waiting.isEmpty else { return [] }
            let oldest = state.inside.min() ?? state.given
            let steps = state.waiting.filter { $0.given <= oldest }.map(\.step)
            state.waiting.removeAll { $0.given <= oldest }
            return steps
        }
        for step in steps { step() }
    }
}
