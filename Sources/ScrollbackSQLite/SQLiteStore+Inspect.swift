package import Foundation
import GRDB
import GRDBSQLite
package import ScrollbackModel
package import StoreFiles

extension SQLiteStore {
    /// What can be seen of a store from outside, without opening it as a server does.
    package struct Inspection: Sendable {
        package var schema: Int
        /// The newest schema this version knows.
        package var knownSchema = SQLiteStore.schemaVersion
        /// Whether somebody has it open.
        package var isOpen: Bool
        package var databaseBytes: Int64
        /// Of the log of recent commits beside it.
        package var walBytes: Int64
        package var freeBytes: Int64
        /// The keys that its texts are sealed with; none where they are not.
        package var keys: [StoreKey.ID] = []
        /// Whether what was there before is still to be sealed, or its seals to be taken off.
        package var isBeingSealed = false
    }

    /// Looks at the store of a directory, whoever has it open, and changes nothing.
    ///
    /// - Returns: nothing where there is no store.
    /// - Throws: `internal-error` where it can't be read.
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
                found.isBeingSealed =
                    try Bool.fetchOne(database, sql: "SELECT position IS NOT NULL FROM sealing") ?? false
                return found
            }
        } catch {
            let reason = (error as? DatabaseError)?.message ?? "no reason given"
            throw ChatError(.internalError, "\(path) can't be read: \(reason)", cause: error)
        }
    }

    /// The SQLite this program runs with.
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
