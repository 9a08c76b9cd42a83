import Dispatch
import Foundation
import Synchronization

/// The processes that this one started and that must not outlive it.
enum ChildProcesses {
    private static let state = Mutex(State())

    private struct State {
        var running: Set<Int32> = []
        var sources: [any DispatchSourceSignal] = []
    }

    /// Kills a process by its ID if a signal ends this process.
    static func add(_ process: Int32) {
        state.withLock { state in
            state.running.insert(process)
            if state.sources.isEmpty { state.sources = [SIGINT, SIGTERM, SIGHUP].map(makeSource) }
        }
    }

    static func remove(_ process: Int32) {
        state.withLock { _ = $0.running.remove(process) }
    }

    private static func makeSource(_ number: Int32) -> any DispatchSourceSignal {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        source.setEventHandler {
            for process in state.withLock({ $0.running }) { kill(process, SIGKILL) }
            exit(128 + number)
        }
        source.activate()
        return source
    }
}
