import Dispatch
import Synchronization

/// Measures the fraction of time during which a worker is busy.
package final class LoadMeter: Sendable {
    /// The length of a measurement window, in nanoseconds.
    private static let window: UInt64 = 100_000_000

    private struct State {
        var start: UInt64
        var busy: UInt64 = 0
        /// The busy fraction of the last complete window.
        var share = 0.0
    }

    private let state: Mutex<State>
    private let now: @Sendable () -> UInt64

    /// Creates a meter.
    ///
    /// - Parameter now: Returns a monotonic time in nanoseconds.
    package init(now: @escaping @Sendable () -> UInt64 = { DispatchTime.now().uptimeNanoseconds }) {
        self.now = now
        state = Mutex(State(start: now()))
    }

    /// Adds the duration of a completed piece of work.
    package func add(_ nanoseconds: UInt64) {
        let time = now()
        state.withLock { state in
            state.busy += nanoseconds
            guard time >= state.start + Self.window else { return }
            state = State(start: time, share: min(1, Double(state.busy) / Double(time - state.start)))
        }
    }

    /// The busy fraction of the last tenth of a second or so, from 0 (idle) to 1 (always busy).
    package var share: Double {
        let time = now()
        return state.withLock { state in
            // Without new work the last window is outdated, so the idle time since then is included.
            time < state.start + Self.window
                ? state.share : min(1, Double(state.busy) / Double(max(1, time - state.start)))
        }
    }
}
