import Synchronization

/// Hands events to every loop that takes them, a bounded number each.
final class EventCenter<Event: Sendable>: Sendable {
    private let state = Mutex(State())
    private let capacity: Int
    private let missed: @Sendable (Int) -> Event

    private struct State {
        var observers: [Int: Observer] = [:]
        var lastObserver = 0
        var hasEnded = false
        var greeting: Event?
    }

    private struct Observer {
        var continuation: AsyncStream<Event>.Continuation
        var missed = 0
        /// There was no room for the greeting: it comes before anything else.
        var isOwedGreeting = false

        /// - Returns: whether there was room.
        func take(_ event: Event) -> Bool {
            if case .dropped = continuation.yield(event) { false } else { true }
        }
    }

    /// - Parameter missed: the event that says so many were dropped.
    init(capacity: Int, missed: @escaping @Sendable (Int) -> Event) {
        self.capacity = capacity
        self.missed = missed
    }

    /// Whether anybody takes events.
    var isObserved: Bool { state.withLock { !$0.observers.isEmpty } }

    /// Tells everybody, and whoever comes later first of all.
    func greet(with event: Event) {
        state.withLock { state in
            guard state.greeting == nil else { return }
            state.greeting = event
            for id in state.observers.keys where state.observers[id]?.take(event) == false {
                state.observers[id]?.isOwedGreeting = true
            }
        }
    }

    func events() -> AsyncStream<Event> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Event.self, bufferingPolicy: .bufferingOldest(capacity))
        let id: Int? = state.withLock { state in
            guard !state.hasEnded else { return nil }
            state.lastObserver += 1
            state.observers[state.lastObserver] = Observer(continuation: continuation)
            if let greeting = state.greeting { continuation.yield(greeting) }
            return state.lastObserver
        }
        guard let id else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.observers.removeValue(forKey: id) }
        }
        return stream
    }

    func send(_ event: Event) {
        state.withLock { state in
            for id in state.observers.keys {
                guard var observer = state.observers[id] else { continue }
                if observer.isOwedGreeting, let greeting = state.greeting {
                    observer.isOwedGreeting = !observer.take(greeting)
                }
                if observer.missed > 0, observer.take(missed(observer.missed)) { observer.missed = 0 }
                if observer.missed > 0 || !observer.take(event) { observer.missed += 1 }
                state.observers[id] = observer
            }
        }
    }

    func end() {
        let all = state.withLock { state in
            state.hasEnded = true
            defer { state.observers = [:] }
            return Array(state.observers.values)
        }
        for observer in all { observer.continuation.finish() }
    }
}
