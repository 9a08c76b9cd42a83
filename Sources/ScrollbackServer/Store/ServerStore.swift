import ScrollbackEngine
import ScrollbackPostgres
import ScrollbackSQLite
import SQLiteSupport

/// The operations of a store that the server needs in addition to the engine's.
protocol ServerStore: MessageStore {
    /// Returns the size of the database and of its write-ahead log, if it has one of its own, in bytes.
    func sizes() throws -> (database: Int64, wal: Int64?)

    /// Returns the progress of the background encryption; `nil` for a store that was never encrypted.
    func encryptionProgress() throws -> EncryptionProgress?

    /// Checks that no other server uses the store.
    ///
    /// - Throws: `conflict` if another server took it over. Other errors are temporary.
    func checkLock() throws

    /// Waits for running operations and closes the store.
    func close() throws
}

extension SQLiteStore: ServerStore {
    /// Does nothing: while the lock of a data directory is held, no other process can take it.
    func checkLock() {}
}

extension PostgresStore: ServerStore {
    func sizes() throws -> (database: Int64, wal: Int64?) { (try size(), nil) }

    func encryptionProgress() -> EncryptionProgress? { nil }
}
