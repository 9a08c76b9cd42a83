import DequeModule
package import ScrollbackModel
import Synchronization

/// Keeps the order of messages that are checked concurrently.
///
/// Messages of one connection to one conversation proceed in the order in which they arrived, even if their checks
/// finish in a different order. Other messages don't wait.
package final class OrderedGate: Sendable {
    package struct QueueID: Hashable, Sendable {
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
        var queues: [QueueID: Deque<Ticket>] = [:]
        var draining: Set<QueueID> = []
        /// The number of tickets issued so far.
        var issued = 0
        /// The tickets that have not finished.
        var unfinished: Set<Int> = []
        var waiting: [(issued: Int, step: Step)] = []
        var refusals = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// Whether no messages are waiting.
    package var isEmpty: Bool { state.withLock { $0.unfinished.isEmpty } }

    /// The number of messages refused since the start because too many were waiting.
    package var refusals: Int { state.withLock { $0.refusals } }

    /// Reserves the next position in a queue.
    ///
    /// - Parameter queue: The queue, or `nil` for a message without an order.
    /// - Returns: A function that runs a step when its turn has come; `nil` if too many messages are waiting.
    package func enter(_ queue: QueueID?) -> (@Sendable (@escaping Step) -> Void)? {
        let ticket: Ticket? = state.withLock { state in
            guard state.unfinished.count < Self.capacity else {
                state.refusals += 1
                return nil
            }
            let ticket = Ticket(number: state.issued)
            state.issued += 1
            state.unfinished.insert(ticket.number)
            if let queue { state.queues[queue, default: []].append(ticket) }
            return ticket
        }
        guard let ticket else { return nil }
        return { [self] step in
            guard let queue else {
                step()
                return finish(ticket)
            }
            ticket.step.withLock { $0 = step }
            drain(queue)
        }
    }

    /// Calls a closure after all currently waiting messages have finished, regardless of later ones.
    package func whenEmpty(_ step: @escaping Step) {
        let isEmpty = state.withLock { state in
            if !state.unfinished.isEmpty { state.waiting.append((state.issued, step)) }
            return state.unfinished.isEmpty
        }
        if isEmpty { step() }
    }

    /// Runs the steps at the front that are ready; only one thread at a time does this, to keep the order.
    private func drain(_ queue: QueueID) {
        guard state.withLock({ $0.draining.insert(queue).inserted }) else { return }
        while let (ticket, step) = next(queue) {
            step()
            finish(ticket)
        }
    }

    private func next(_ queue: QueueID) -> (Ticket, Step)? {
        state.withLock { state in
            guard let first = state.queues[queue]?.first, let step = first.step.withLock({ $0 }) else {
                state.draining.remove(queue)
                if state.queues[queue]?.isEmpty == true { state.queues[queue] = nil }
                return nil
            }
            state.queues[queue]?.removeFirst()
            return (first, step)
        }
    }

    private func finish(_ ticket: Ticket) {
        let steps: [Step] = state.withLock { state in
            state.unfinished.remove(ticket.number)
            guard !state.waiting.isEmpty else { return [] }
            let oldest = state.unfinished.min() ?? state.issued
            let steps = state.waiting.filter { $0.issued <= oldest }.map(\.step)
            state.waiting.removeAll { $0.issued <= oldest }
            return steps
        }
        for step in steps { step() }
    }
}
