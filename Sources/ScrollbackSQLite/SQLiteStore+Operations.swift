import Foundation
import GRDB
import ScrollbackModel
import StoreFiles
import Synchronization

extension SQLiteStore {
    /// Bytes of the main file, of the log of recent commits beside it, and free on the volume.
    package func sizes() throws -> (database: Int64, wal: Int64, free: Int64) {
        func size(_ suffix: String) -> Int64 {
            let path = directory.appending(component: Self.fileName + suffix).path
            let attributes = try? FileManager.default.attributesOfItem(atPath: path)
            return (attributes?[.size] as? NSNumber)?.int64Value ?? 0
        }
        return try translatingErrors {
            let volume = try FileManager.default.attributesOfFileSystem(forPath: directory.path)
            return (size(""), size("-wal"), (volume[.systemFreeSize] as? NSNumber)?.int64Value ?? 0)
        }
    }

    /// Waits for readers, moves everything into the main file, and empties the log of recent commits.
    package func checkpoint() throws {
        try checkOpen()
        try translatingErrors {
            try pool.writeWithoutTransaction { database in
                try translatingErrors(on: database, "the store could not be checkpointed") {
                    _ = try database.checkpoint(.truncate)
                }
            }
        }
    }

    /// How many pages the main file has and may have: where it would grow further, writes fail as on a full disk.
    ///
    /// - Parameter maximum: pages of 4,096 bytes; nil lifts the limit.
    /// - Returns: the limit now, which is never below what the file has.
    @discardableResult
    package func setMaximumPages(_ maximum: Int64?) throws -> Int64 {
        try checkOpen()
        return try translatingErrors {
            try pool.writeWithoutTransaction { database in
                try Int64.fetchOne(database, sql: "PRAGMA max_page_count = \(maximum ?? 1_073_741_823)") ?? 0
            }
        }
    }

    /// What a pragma is set to on the writer's connection.
    package func setting(_ pragma: String) throws -> String? {
        try checkOpen()
        return try translatingErrors {
            try pool.writeWithoutTransaction { database in
                try DatabaseValue.fetchOne(database, sql: "PRAGMA \(pragma)")?.storage.value.map { "\($0)" }
            }
        }
    }

    /// How many steps SQLite has taken for kept statements: tests hold questions to a bounded number, since a plan does not
    /// tell how many rows a seek goes on to.
    ///
    /// To be asked while nothing is under way.
    package var steps: Int { connections.withLock { $0.values.reduce(0) { $0 + $1.steps } } }

    /// How SQLite carries out each statement: tests hold it to seeks.
    package func plans() throws -> [(statement: String, steps: [String])] {
        try readConnection { connection in
            let filtered = [true, false].map { newestFirst in
                let filter = MessageFilter(
                    types: [.text], excludedTypes: [.notice], customTypes: ["a", nil], senders: ["a", "b"],
                    mentionsMe: true)
                return Query.messages(newestFirst: newestFirst, where: FilterCondition(filter).sql)
            }
            let kept = Query.allCases.filter { ![.beginRead, .beginWrite, .commit, .rollback].contains($0) }.map(\.sql)
            return try (kept + filtered).map { sql in
                var steps: [String] = []
                try connection.run(once: "EXPLAIN QUERY PLAN \(sql)") { columns in
                    columns.skip(3)
                    steps.append(columns.text())
                    return true
                }
                return (sql, steps)
            }
        }
    }
}
