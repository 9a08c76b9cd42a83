import ScrollbackEngine
import ScrollbackModel
import ScrollbackPostgres
import Synchronization
import TestSupport

/// Two stores on one database, as two servers have, which execute the calls in turn.
final class AlternatingStores: MessageStore {
    private let stores: [PostgresStore]
    private let callCount = Mutex(0)

    /// Opens both stores in a new schema.
    init(in database: PostgresDatabase) throws {
        let url = try database.makeSchema()
        stores = try (0..<2).map { _ in try PostgresStore(url, options: PostgresDatabase.sharedOptions) }
    }

    private var next: PostgresStore {
        callCount.withLock { count in
            count += 1
            return stores[count % stores.count]
        }
    }

    var generation: UInt64 {
        let store = next
        // A store updates its copy of the generation with its next transaction, or when the last commit is read.
        _ = try? store.lastCommit
        return store.generation
    }

    var lastCommit: Int64 { get throws { try next.lastCommit } }
    var newest: Timetoken { get throws { try next.newest } }

    func read<Answer>(_ body: (any StoreReader) throws -> Answer) throws -> Answer { try next.read(body) }

    func write<Answer>(_ body: (any StoreWriter, _ commit: Int64) throws -> Answer) throws -> Answer {
        try next.write(body)
    }

    func vacuum() -> Bool { next.vacuum() }
}
