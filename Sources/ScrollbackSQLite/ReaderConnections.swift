import Dispatch
import GRDB
import ScrollbackModel
import Synchronization

/// The read-only connections of a store, which are opened as they are needed.
///
/// GRDB's own pool takes several locks and searches its connections for each read. That was a third of the CPU time of
/// a short request.
final class ReaderConnections: Sendable {
    private struct Reader: Sendable {
        let queue: DatabaseQueue
        let connection: SQLiteConnection
    }

    private struct State {
        /// The idle connections, with the last used one at the end, because its page cache is the most recent.
        var idle: [Reader] = []
        var isClosed = false
    }

    private let maximumCount: Int
    private let open: @Sendable () throws -> (DatabaseQueue, SQLiteConnection)
    private let state = Mutex(State())
    /// Counts how many more connections may be in use.
    private let free: DispatchSemaphore

    /// Creates an empty set of connections.
    ///
    /// - Parameters:
    ///   - maximumCount: The maximum number of concurrent reads. Further ones wait.
    ///   - open: Opens a connection.
    init(maximumCount: Int, open: @escaping @Sendable () throws -> (DatabaseQueue, SQLiteConnection)) {
        self.maximumCount = maximumCount
        self.open = open
        free = DispatchSemaphore(value: maximumCount)
    }

    /// Calls `body` with a connection that no other read uses meanwhile.
    ///
    /// - Throws: `shutting-down` after ``close()``.
    func read<Answer>(_ body: (SQLiteConnection) throws -> Answer) throws -> Answer {
        free.wait()
        defer { free.signal() }
        let reader = try takeIdle() ?? makeReader()
        defer { state.withLock { $0.idle.append(reader) } }
        return try reader.queue.unsafeRead { _ in try body(reader.connection) }
    }

    private func takeIdle() throws -> Reader? {
        try state.withLock { state in
            if state.isClosed { throw ChatError(.shuttingDown, "The store is closed.") }
            return state.idle.popLast()
        }
    }

    private func makeReader() throws -> Reader {
        let (queue, connection) = try open()
        return Reader(queue: queue, connection: connection)
    }

    /// The number of virtual machine steps of the idle connections.
    var steps: Int { state.withLock { $0.idle.reduce(0) { $0 + $1.connection.steps } } }

    /// Waits for running reads and closes the connections.
    func close() throws {
        for _ in 0..<maximumCount { free.wait() }
        defer { for _ in 0..<maximumCount { free.signal() } }
        var queues = state.withLock { state in
            state.isClosed = true
            defer { state.idle = [] }
            return state.idle.map(\.queue)
        }
        // The statements of the connections are released now. SQLite does not close a connection that has some.
        while let queue = queues.popLast() { try queue.close() }
    }
}
