import DequeModule
package import ScrollbackModel
import Synchronization

/// Keeps the order of messages that are checked concurrently.
///
/// Messages of one connection to one conversation proceed in the order in which they arrived, even if their checks
/// finish in a different order. Other messages don't wait.
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

    /// The maximum number of waiting messages; further messages are refused.
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
        /// The number of tickets issued so far.
        var given = 0
        /// The tickets that have not finished.
        var inside: Set<Int> = []
        var waiting: [(given: Int, step: Step)] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// Whether no messages are waiting.
    package var isEmpty: Bool { state.withLock { $0.inside.isEmpty } }

    /// Reserves the next position in a lane.
    ///
    /// - Parameter lane: The lane, or `nil` for a message without an order.
    /// - Returns: A function that runs a step when its turn has come; `nil` if too many messages are waiting.
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

    /// Calls a closure after all currently waiting messages have finished, regardless of later ones.
    package func whenEmpty(_ step: @escaping Step) {
        let isEmpty = state.withLock { state in
            if !state.inside.isEmpty { state.waiting.append((state.given, step)) }
            return state.inside.isEmpty
        }
        if isEmpty { step() }
    }

    /// Runs the steps at the front that are ready; only one thread at a time does this, to keep the order.
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
