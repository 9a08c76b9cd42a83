import CoreMetrics
import Synchronization

/// A connection whose queued outgoing bytes count against the server's budget.
protocol QueueingConnection: AnyObject, Sendable {
    /// Closes the connection and drops what is queued for it, because all connections together have too much queued.
    ///
    /// Called on any thread.
    func closeToFreeMemory()
}

/// Bounds the bytes that wait on the server for peers to read them, over all connections.
///
/// When they exceed the limit, the connections with the most queued bytes are closed until an eighth of the limit is
/// free.
final class OutboundBudget: Sendable {
    private let limit: Int
    private let metrics: ServerMetrics
    private let state = Mutex(State())

    private struct Entry {
        let connection: any QueueingConnection
        var bytes: Int
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        var total = 0
        /// The connections that were chosen to be closed; their bytes no longer count.
        var evicted: Set<ObjectIdentifier> = []

        mutating func set(_ bytes: Int, for connection: any QueueingConnection) {
            let id = ObjectIdentifier(connection)
            total += bytes - (entries[id]?.bytes ?? 0)
            entries[id] = bytes > 0 ? Entry(connection: connection, bytes: bytes) : nil
        }

        /// Removes the connections with the most bytes until the total is at most `target`, and returns them.
        mutating func evict(to target: Int) -> [any QueueingConnection] {
            var victims: [any QueueingConnection] = []
            for (id, entry) in entries.sorted(by: { $0.value.bytes > $1.value.bytes }) {
                guard total > target else { break }
                victims.append(entry.connection)
                evicted.insert(id)
                set(0, for: entry.connection)
            }
            return victims
        }
    }

    init(limit: Int, metrics: ServerMetrics) {
        self.limit = limit
        self.metrics = metrics
    }

    /// The queued bytes of all connections.
    var total: Int { state.withLock { $0.total } }

    /// Sets the number of bytes that are queued for a connection.
    func set(_ bytes: Int, for connection: any QueueingConnection) {
        let victims = state.withLock { state in
            guard !state.evicted.contains(ObjectIdentifier(connection)) else { return [] as [any QueueingConnection] }
            state.set(bytes, for: connection)
            return state.total > limit ? state.evict(to: limit - limit / 8) : []
        }
        for victim in victims {
            metrics.memoryCloses.increment()
            victim.closeToFreeMemory()
        }
    }

    /// Removes a connection whose socket was closed.
    func remove(_ connection: any QueueingConnection) {
        state.withLock { state in
            state.set(0, for: connection)
            state.evicted.remove(ObjectIdentifier(connection))
        }
    }
}
