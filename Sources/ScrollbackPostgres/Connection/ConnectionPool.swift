import Dispatch
import ScrollbackModel
import Synchronization

/// The connections of a store for one purpose, which are opened as they are needed.
final class ConnectionPool: Sendable {
    private struct State {
        /// The idle connections, with the last used one at the end.
        var idle: [PostgresConnection] = []
        var isClosed = false
    }

    private let maximumCount: Int
    private let open: @Sendable () throws -> PostgresConnection
    private let state = Mutex(State())
    /// Counts how many more connections may be in use.
    private let free: DispatchSemaphore

    /// Creates an empty pool.
    ///
    /// - Parameters:
    ///   - maximumCount: The maximum number of connections in use. Further callers wait.
    ///   - open: Opens a connection.
    init(maximumCount: Int, open: @escaping @Sendable () throws -> PostgresConnection) {
        self.maximumCount = maximumCount
        self.open = open
        free = DispatchSemaphore(value: maximumCount)
    }

    /// Runs a transaction on a connection that no other caller uses at the same time, and rolls back what `body` does
    /// not commit.
    ///
    /// - Parameters:
    ///   - begin: Begins the transaction. If an idle connection turns out to be closed, it runs again on a new one.
    ///   - body: Uses the connection and the result of `begin`.
    /// - Throws: `shutting-down` after ``close()``.
    func transaction<Start, Answer>(
        begin: (PostgresConnection) throws -> Start, _ body: (PostgresConnection, Start) throws -> Answer
    ) throws -> Answer {
        free.wait()
        defer { free.signal() }
        var (connection, start) = (try takeIdle(), nil as Start?)
        if let idle = connection {
            do {
                start = try begin(idle)
            } catch {
                guard idle.isLost else {
                    giveBack(idle)
                    throw error
                }
                // A restart of PostgreSQL closes all connections, and the loss of its machine makes them silent.
                state.withLock { $0.idle = [] }
                connection = nil
            }
        }
        let used = try connection ?? open()
        defer { giveBack(used) }
        return try body(used, try start ?? begin(used))
    }

    private func takeIdle() throws -> PostgresConnection? {
        try state.withLock { state in
            if state.isClosed { throw ChatError(.shuttingDown, "The store is closed.") }
            return state.idle.popLast()
        }
    }

    private func giveBack(_ connection: PostgresConnection) {
        connection.rollBack()
        guard !connection.isLost else { return }
        state.withLock { $0.idle.append(connection) }
    }

    /// Waits for running transactions and closes the connections.
    func close() {
        for _ in 0..<maximumCount { free.wait() }
        defer { for _ in 0..<maximumCount { free.signal() } }
        state.withLock { $0 = State(isClosed: true) }
    }
}
