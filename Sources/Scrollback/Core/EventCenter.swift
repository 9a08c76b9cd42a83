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

    /// What one loop has yet to take.
    ///
    /// It is kept here and not in the loop's stream, so that what there was no room for is handed out as soon as the loop has
    /// taken the rest, whether or not anything else happens.
    private struct Observer {
        /// Wakes the loop, should it wait.
        let signal: AsyncStream<Void>.Continuation
        let capacity: Int
        /// What came since the loop took all there was, and the rest of what it took then, the next one last.
        var newest: [Event] = []
        var oldest: [Event] = []
        /// There was no room for the greeting: it comes before anything else.
        var greeting: Event?
        /// For how many events there was no room.
        var missed = 0

        init(signal: AsyncStream<Void>.Continuation, capacity: Int) {
            self.signal = signal
            self.capacity = capacity
        }

        private var isEmpty: Bool { newest.isEmpty && oldest.isEmpty }
        private var hasRoom: Bool { newest.count + oldest.count < capacity }

        mutating func greet(with event: Event) {
            if hasRoom { newest.append(event) } else { greeting = event }
            signal.yield()
        }

        /// - Parameter tell: the event that says so many were dropped.
        mutating func put(_ event: Event, missed tell: (Int) -> Event) {
            payUp(tell)
            if hasRoom { newest.append(event) } else { missed += 1 }
            signal.yield()
        }

        mutating func take(missed tell: (Int) -> Event) -> Event? {
            if isEmpty { payUp(tell) }
            if oldest.isEmpty {
                oldest = newest.reversed()
                newest = []
            }
            let event = oldest.popLast()
            // Somebody else may wait for the same stream.
            if !isEmpty { signal.yield() }
            return event
        }

        /// Lets in what there was no room for, as far as there is now.
        private mutating func payUp(_ tell: (Int) -> Event) {
            if let event = greeting, hasRoom {
                newest.append(event)
                greeting = nil
            }
            if missed > 0, hasRoom {
                newest.append(tell(missed))
                missed = 0
            }
        }
    }

    /// - Parameters:
    ///   - capacity: how many events wait for a loop; one at least.
    ///   - missed: the event that says so many were dropped.
    init(capacity: Int, missed: @escaping @Sendable (Int) -> Event) {
        self.capacity = max(1, capacity)
        self.missed = missed
    }

    /// Whether anybody takes events.
    var isObserved: Bool { state.withLock { !$0.hasEnded && !$0.observers.isEmpty } }

    /// Tells everybody, and whoever comes later first of all.
    func greet(with event: Event) {
        state.withLock { state in
            guard state.greeting == nil else { return }
            state.greeting = event
            for id in Array(state.observers.keys) { state.observers[id]?.greet(with: event) }
        }
    }

    func events() -> AsyncStream<Event> {
        let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state in
            state.lastObserver += 1
            guard !state.hasEnded else { return state.lastObserver }
            var observer = Observer(signal: signal, capacity: capacity)
            if let greeting = state.greeting { observer.greet(with: greeting) }
            state.observers[state.lastObserver] = observer
            return state.lastObserver
        }
        // A loop that is cancelled, or lets go of its stream and so of the signals, takes no more. Where all end, each may still
        // take what waits.
        signal.onTermination = { [weak self] _ in
            self?.state.withLock { if !$0.hasEnded { $0.observers[id] = nil } }
        }
        return AsyncStream(
            unfolding: { [self] in await next(of: id, wokenBy: signals) }, onCancel: { signal.finish() })
    }

    /// The next event for an observer, as soon as there is one; nothing when no more will come.
    private func next(of id: Int, wokenBy signals: AsyncStream<Void>) async -> Event? {
        while true {
            let (event, isOver) = state.withLock { state in
                (state.observers[id]?.take(missed: missed), state.hasEnded || state.observers[id] == nil)
            }
            if event != nil || isOver { return event }
            guard await signals.first(where: { _ in true }) != nil else { return nil }
        }
    }

    func send(_ event: Event) {
        state.withLock { state in
            for id in Array(state.observers.keys) { state.observers[id]?.put(event, missed: missed) }
        }
    }

    /// Ends every loop once it has taken what waits.
    func end() {
        let signals = state.withLock { state in
            state.hasEnded = true
            return state.observers.values.map(\.signal)
        }
        for signal in signals { signal.finish() }
    }
}
