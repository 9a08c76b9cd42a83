package import Foundation
import GRDB
import GRDBSQLite
package import ScrollbackModel
package import SQLiteSupport

extension SQLiteStore {
    /// Properties of a store, determined without opening it as a server does.
    package struct Inspection: Sendable {
        package var schema: Int
        /// The newest schema that this version supports.
        package var knownSchema = SQLiteStore.schemaVersion
        /// Whether a process has the store open.
        package var isOpen: Bool
        package var databaseBytes: Int64
        /// The size of the write-ahead log.
        package var walBytes: Int64
        package var freeBytes: Int64
        /// The keys with which the texts are encrypted; empty if they are not.
        package var keys: [StoreKey.ID] = []
        /// Whether existing rows are still being encrypted or decrypted.
        package var isReencrypting = false
    }

    /// Inspects the store of a directory without changing it, even while a server has it open.
    ///
    /// - Returns: `nil` if no store exists.
    /// - Throws: `internal-error` if the store can't be read.
    package static func inspect(_ directory: URL) throws(ChatError) -> Inspection? {
        let path = directory.appending(component: fileName).path
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        func size(_ path: String) -> Int64 {
            let attributes = try? FileManager.default.attributesOfItem(atPath: path)
            return (attributes?[.size] as? NSNumber)?.int64Value ?? 0
        }
        let volume = try? FileManager.default.attributesOfFileSystem(forPath: directory.path)
        do {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(2)
            let isOpen = DirectoryLock.isHeld(directory)
            return try DatabaseQueue(path: path, configuration: configuration).read { database in
                let schema =
                    try Int.fetchOne(database, sql: "SELECT max(CAST(identifier AS INTEGER)) FROM grdb_migrations") ?? 0
                var found = Inspection(
                    schema: schema, isOpen: isOpen, databaseBytes: size(path), walBytes: size(path + "-wal"),
                    freeBytes: (volume?[.systemFreeSize] as? NSNumber)?.int64Value ?? 0)
                guard (9...schemaVersion).contains(schema) else { return found }
                let keys = try Int64.fetchAll(database, sql: "SELECT id FROM storeKey ORDER BY id")
                found.keys = keys.map { StoreKey.ID(bits: UInt32(truncatingIfNeeded: $0)) }
                found.isReencrypting =
                    try Bool.fetchOne(database, sql: "SELECT position IS NOT NULL FROM sealing") ?? false
                return found
            }
        } catch {
            let reason = (error as? DatabaseError)?.message ?? "no reason"
            throw ChatError(.internalError, "The store \(path) can't be read: \(reason).", cause: error)
        }
    }

    /// The version and compile options of the SQLite library of this process.
    package static var library: (version: String, options: Set<String>) {
        var options: Set<String> = []
        var index: CInt = 0
        while let option = sqlite3_compileoption_get(index) {
            options.insert(String(cString: option))
            index += 1
        }
        return (String(cString: sqlite3_libversion()), options)
    }
}
