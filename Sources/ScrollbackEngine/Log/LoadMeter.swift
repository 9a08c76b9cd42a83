import Dispatch
import Synchronization

/// How much of the time a worker has work.
package final class LoadMeter: Sendable {
    /// Over how long it is measured, in nanoseconds.
    private static let window: UInt64 = 100_000_000

    private struct State {
        var start: UInt64
        var busy: UInt64 = 0
        /// That of the last whole window.
        var share = 0.0
    }

    private let state: Mutex<State>
    private let now: @Sendable () -> UInt64

    /// - Parameter now: a monotonic time in nanoseconds.
    package init(now: @escaping @Sendable () -> UInt64 = { DispatchTime.now().uptimeNanoseconds }) {
        self.now = now
        state = Mutex(State(start: now()))
    }

    /// Adds a piece of work that has just ended.
    package func add(_ nanoseconds: UInt64) {
        let time = now()
        state.withLock { state in
            state.busy += nanoseconds
            guard time >= state.start + Self.window else { return }
            state = State(start: time, share: min(1, Double(state.busy) / Double(time - state.start)))
        }
    }

    /// Of the last tenth of a second or so: 0 where there was no work, 1 where there was nothing else.
    package var share: Double {
        let time = now()
        return state.withLock { state in
            // Where nothing has come for longer, the last window says too much.
            time < state.start + Self.window
                ? state.share : min(1, Double(state.busy) / Double(max(1, time - state.start)))
        }
    }
}
