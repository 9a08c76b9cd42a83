import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackPostgres
import ScrollbackSQLite
import SQLiteSupport

extension ServerOptions {
    /// Opens the store and its search index.
    ///
    /// - Returns: The lock of the data directory, too, if the store does not have it.
    func openStore() throws -> (any ServerStore, SQLiteSearch, DirectoryLock?) {
        // One connection for each thread that reads, so that no pool waits for those of another. Two more for work that
        // has threads of its own, such as pushes and cleanup.
        let readerCount = WorkPool.allCases.reduce(2) { $0 + threadCount(of: $1) }
        guard let storeURL else {
            guard busURL == nil else {
                throw ChatError.invalidParameter(
                    "bus", "requires --store: several servers can share a PostgreSQL database, but no SQLite store")
            }
            try checkIsNotBeingMoved()
            guard !DirectoryMarker.postgres.exists(in: directory) else {
                throw ChatError.invalidParameter(
                    "store",
                    "is missing: the messages of \(directory.path) are in a PostgreSQL database. Start the server with "
                        + "its URL, or choose another data directory")
            }
            var storeOptions = SQLiteStore.Options()
            storeOptions.readers = readerCount
            storeOptions.keys = storeKeys
            let store = try SQLiteStore(directory: directory, options: storeOptions)
            return (store, try SQLiteSearch(store), nil)
        }
        guard storeKeys == nil else {
            throw ChatError.invalidParameter(
                "store-keys",
                "can't be used with a PostgreSQL store. Encrypt the volumes of the database and of the data directory "
                    + "instead")
        }
        try checkIsNotBeingMoved()
        guard !hasFile else {
            throw ChatError.invalidParameter(
                "store",
                "can't be used with \(directory.path), which has a store with messages. Choose another data directory")
        }
        let lock = try DirectoryLock(
            directory, errorCode: .conflict, "only one server can open it at a time")
        var storeOptions = PostgresStore.Options()
        storeOptions.readers = readerCount
        storeOptions.lockTimeout = storeLockTimeout
        storeOptions.isShared = busURL != nil
        storeOptions.allowsAsynchronousStandbys = allowsAsynchronousStandbys
        let store = try PostgresStore(PostgresURL(storeURL), options: storeOptions)
        try DirectoryMarker.postgres.create(in: directory)
        return (store, try SQLiteSearch(store, in: directory), lock)
    }

    /// Returns the number of threads of a pool.
    func threadCount(of pool: WorkPool) -> Int {
        switch pool {
        case .admission: admissionReaders
        case .read: readers
        case .search: searchReaders
        case .file: diskThreads
        }
    }

    private var hasFile: Bool {
        FileManager.default.fileExists(atPath: directory.appending(component: SQLiteStore.fileName).path)
    }

    private func checkIsNotBeingMoved() throws(ChatError) {
        guard DirectoryMarker.postgres.exists(in: directory), hasFile else { return }
        throw .invalidParameter(
            "data",
            "is being moved to a PostgreSQL database (\(directory.path)). Run `scrollback move` again with the same "
                + "options")
    }
}
