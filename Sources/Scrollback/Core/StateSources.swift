import ScrollbackModel
import Synchronization

/// A set of state producers, one for each conversation, created on first use.
final class StateSources<Value: Sendable>: Sendable {
    private let state: Mutex<State>
    private let initial: Value

    private struct State {
        var sources: [ConversationID: StateSource<Value>] = [:]
        var hasEnded = false
    }

    init(_ initial: Value) {
        self.initial = initial
        state = Mutex(State())
    }

    func source(of id: ConversationID) -> StateSource<Value> {
        state.withLock { state in
            if let known = state.sources[id] { return known }
            let source = StateSource(initial)
            if state.hasEnded { source.end() } else { state.sources[id] = source }
            return source
        }
    }

    func set(_ value: Value, of id: ConversationID) { source(of: id).set(value) }

    func end() {
        let all = state.withLock { state in
            state.hasEnded = true
            return Array(state.sources.values)
        }
        for source in all { source.end() }
    }
}
