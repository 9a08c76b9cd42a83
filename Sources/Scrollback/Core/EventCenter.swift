import Synchronization

/// Delivers events to all consumers, with a bounded buffer for each.
final class EventCenter<Event: Sendable>: Sendable {
    private let state = Mutex(State())
    private let capacity: Int
    private let missed: @Sendable (Int) -> Event

    private struct State {
        var observers: [Int: Observer] = [:]
        var lastObserver = 0
        var hasEnded = false
        var initialEvent: Event?
    }

    /// The buffered events of one consumer.
    ///
    /// The buffer is not the consumer's stream, because that would delay the report of dropped events until the next
    /// event. The report is delivered as soon as the consumer has drained the buffer.
    private final class Observer {
        /// Wakes the consumer if it is waiting.
        let signal: AsyncStream<Void>.Continuation
        let capacity: Int
        /// The buffer in two parts: new events, and the rest of the last batch in reverse order.
        var newest: [Event] = []
        var oldest: [Event] = []
        /// The initial event, if the buffer was full when it was sent.
        ///
        /// It precedes other pending events.
        var initialEvent: Event?
        /// The number of dropped events.
        var missed = 0

        init(signal: AsyncStream<Void>.Continuation, capacity: Int) {
            self.signal = signal
            self.capacity = capacity
        }

        private var isEmpty: Bool { newest.isEmpty && oldest.isEmpty }
        private var hasCapacity: Bool { newest.count + oldest.count < capacity }

        func sendInitial(_ event: Event) {
            if hasCapacity { newest.append(event) } else { initialEvent = event }
            signal.yield()
        }

        /// - Parameter makeMissedEvent: Creates the event that reports the number of dropped events.
        func put(_ event: Event, missed makeMissedEvent: (Int) -> Event) {
            appendPending(makeMissedEvent)
            if hasCapacity { newest.append(event) } else { missed += 1 }
            signal.yield()
        }

        func take(missed makeMissedEvent: (Int) -> Event) -> Event? {
            if isEmpty { appendPending(makeMissedEvent) }
            if oldest.isEmpty {
                oldest = newest.reversed()
                newest = []
            }
            let event = oldest.popLast()
            // Another task may be waiting for the same stream.
            if !isEmpty { signal.yield() }
            return event
        }

        /// Appends the pending initial event and the report of dropped events, if the buffer has space.
        private func appendPending(_ makeMissedEvent: (Int) -> Event) {
            if let event = initialEvent, hasCapacity {
                newest.append(event)
                initialEvent = nil
            }
            if missed > 0, hasCapacity {
                newest.append(makeMissedEvent(missed))
                missed = 0
            }
        }
    }

    /// - Parameters:
    ///   - capacity: The buffer size for each consumer, at least 1.
    ///   - missed: Creates the event that reports the number of dropped events.
    init(capacity: Int, missed: @escaping @Sendable (Int) -> Event) {
        self.capacity = max(1, capacity)
        self.missed = missed
    }

    /// Whether there is at least one consumer.
    var isObserved: Bool { state.withLock { !$0.hasEnded && !$0.observers.isEmpty } }

    /// Sends an event to all consumers, and later to each new consumer as its first event.
    func sendInitial(_ event: Event) {
        state.withLock { state in
            guard state.initialEvent == nil else { return }
            state.initialEvent = event
            for observer in state.observers.values { observer.sendInitial(event) }
        }
    }

    func events() -> AsyncStream<Event> {
        let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state in
            state.lastObserver += 1
            guard !state.hasEnded else { return state.lastObserver }
            let observer = Observer(signal: signal, capacity: capacity)
            if let initialEvent = state.initialEvent { observer.sendInitial(initialEvent) }
            state.observers[state.lastObserver] = observer
            return state.lastObserver
        }
        // Remove a consumer that was cancelled or released its stream. After `end()`, each consumer may still drain its
        // buffer.
        signal.onTermination = { [weak self] _ in
            self?.state.withLock { if !$0.hasEnded { $0.observers[id] = nil } }
        }
        return AsyncStream(
            unfolding: { [self] in await next(of: id, wokenBy: signals) }, onCancel: { signal.finish() })
    }

    /// Returns the next event for a consumer, waiting for it, or `nil` after the last one.
    private func next(of id: Int, wokenBy signals: AsyncStream<Void>) async -> Event? {
        while true {
            let (event, isOver) = state.withLock { state in
                let observer = state.observers[id]
                return (observer?.take(missed: missed), state.hasEnded || observer == nil)
            }
            if event != nil || isOver { return event }
            guard await signals.first(where: { _ in true }) != nil else { return nil }
        }
    }

    func send(_ event: Event) {
        state.withLock { state in
            for observer in state.observers.values { observer.put(event, missed: missed) }
        }
    }

    /// Ends each consumer's stream after its buffered events.
    func end() {
        let signals = state.withLock { state in
            state.hasEnded = true
            return state.observers.values.map(\.signal)
        }
        for signal in signals { signal.finish() }
    }
}
