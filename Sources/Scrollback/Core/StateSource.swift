import Synchronization

/// An asynchronous sequence of the values of a state over time.
///
/// Any number of consumers can iterate it concurrently. Each one starts with the current value and receives only the
/// newest value after being busy. The sequence never throws, and ends when the client is closed.
public struct StateSequence<Value: Sendable>: AsyncSequence, Sendable {
    /// The type of the values.
    public typealias Element = Value
    /// The sequence never throws.
    public typealias Failure = Never

    private let makeStream: @Sendable () -> AsyncStream<Value>

    init(_ makeStream: @escaping @Sendable () -> AsyncStream<Value>) {
        self.makeStream = makeStream
    }

    /// Creates an independent iterator, which starts with the current value.
    public func makeAsyncIterator() -> AsyncStream<Value>.Iterator {
        makeStream().makeAsyncIterator()
    }
}

/// The producer of a ``StateSequence``'s values.
final class StateSource<Value: Sendable>: Sendable {
    private let state: Mutex<State>

    private struct State {
        var current: Value?
        var observers: [Int: AsyncStream<Value>.Continuation] = [:]
        var lastObserver = 0
        var hasEnded = false
    }

    init(_ value: Value? = nil) {
        state = Mutex(State(current: value))
    }

    var current: Value? { state.withLock { $0.current } }

    var sequence: StateSequence<Value> {
        StateSequence { [self] in
            let (stream, continuation) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(1))
            let id: Int? = state.withLock { state in
                if let current = state.current { continuation.yield(current) }
                guard !state.hasEnded else { return nil }
                state.lastObserver += 1
                state.observers[state.lastObserver] = continuation
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
    }

    func set(_ value: Value) {
        let observers = state.withLock { state in
            guard !state.hasEnded else { return [AsyncStream<Value>.Continuation]() }
            state.current = value
            return Array(state.observers.values)
        }
        for observer in observers { observer.yield(value) }
    }

    func end() {
        let observers = state.withLock { state in
            state.hasEnded = true
            defer { state.observers = [:] }
            return Array(state.observers.values)
        }
        for observer in observers { observer.finish() }
    }
}
