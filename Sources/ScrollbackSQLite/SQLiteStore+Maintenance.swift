import Foundation
import GRDB
import ScrollbackModel
import SQLiteSupport
import Synchronization

extension SQLiteStore {
    /// Returns the sizes of the main file and the write-ahead log in bytes.
    package func sizes() -> (database: Int64, wal: Int64?) { (size(""), size("-wal")) }

    private func size(_ suffix: String) -> Int64 {
        Self.size(of: directory.appending(component: Self.fileName + suffix).path)
    }

    /// Returns the size of a file in bytes; 0 if it does not exist.
    static func size(of path: String) -> Int64 {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        return (attributes?[.size] as? NSNumber)?.int64Value ?? 0
    }

    /// Waits for readers, writes all commits into the main file, and truncates the write-ahead log.
    package func checkpoint() throws {
        try checkOpen()
        try translatingErrors {
            try pool.writeWithoutTransaction { database in
                try translatingErrors(on: database, "The store could not be checkpointed.") {
                    _ = try database.checkpoint(.truncate)
                }
            }
        }
    }

    /// The number of pages that are freed at a time, while the writer waits.
    private static let vacuumPageCount = 256

    /// Shrinks the file by one mebibyte of free pages.
    ///
    /// - Returns: Whether more free pages exist.
    package func vacuum() throws -> Bool {
        try checkOpen()
        return try translatingErrors {
            try pool.writeWithoutTransaction { database in
                try translatingErrors(on: database, "Free space could not be returned to the system.") {
                    let free = try Int64.fetchOne(database, sql: "PRAGMA freelist_count") ?? 0
                    guard free > 0 else {
                        // Until a checkpoint, only the write-ahead log has the new length of the file.
                        if size("-wal") > 0 { _ = try? database.checkpoint(.passive) }
                        return false
                    }
                    // Each page is a step of the statement, so it must run to its end.
                    _ = try Row.fetchAll(database, sql: "PRAGMA incremental_vacuum(\(Self.vacuumPageCount))")
                    return true
                }
            }
        }
    }

    /// Limits the number of pages of the main file; beyond the limit, writes fail as on a full disk.
    ///
    /// - Parameter maximum: The number of 4,096-byte pages; `nil` removes the limit.
    /// - Returns: The limit in effect, which is never below the current size.
    @discardableResult
    package func setMaximumPages(_ maximum: Int64?) throws -> Int64 {
        try checkOpen()
        return try translatingErrors {
            try pool.writeWithoutTransaction { database in
                try Int64.fetchOne(database, sql: "PRAGMA max_page_count = \(maximum ?? 1_073_741_823)") ?? 0
            }
        }
    }

    /// Returns the value of a pragma on the writer's connection.
    package func pragmaValue(_ pragma: String) throws -> String? {
        try checkOpen()
        return try translatingErrors {
            try pool.writeWithoutTransaction { database in
                try DatabaseValue.fetchOne(database, sql: "PRAGMA \(pragma)")?.storage.value.map { "\($0)" }
            }
        }
    }

    /// The number of virtual machine steps that cached statements have executed.
    ///
    /// Tests use it to limit the cost of queries, because a query plan does not show how many rows a seek reads. Read
    /// it only while no query runs.
    package var steps: Int { readers.steps + writerConnection.withLock { $0?.steps ?? 0 } }

    /// Returns the query plan of each statement that this process has used, and of filtered pages.
    ///
    /// Tests verify that all of them are seeks.
    package func queryPlans() throws -> [(statement: String, steps: [String])] {
        try readConnection { connection in
            let filters: [MessageFilter] = [
                MessageFilter(types: [.text], excludedTypes: [.notice], customTypes: ["a", nil], senders: ["a", "b"]),
                .types([.image, .file]), .customTypes(["a"]), .mentionsMe, .hasMedia,
                .thread(MessageID(high: 0, low: 1)),
            ]
            let filtered = filters.flatMap { filter in
                [true, false].map { SQLiteReader.page(newestFirst: $0, FilterCondition(filter)) }
            }
            return try (usedStatements.withLock { $0 } + filtered).map { sql in
                var steps: [String] = []
                try connection.run(uncached: "EXPLAIN QUERY PLAN \(sql)") { columns in
                    columns.skip(3)
                    steps.append(columns.text())
                    return true
                }
                return (sql, steps)
            }
        }
    }
}
