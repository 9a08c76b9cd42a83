import Foundation
import GRDB
import ScrollbackModel
import StoreFiles
import Synchronization

extension SQLiteStore {
    /// Bytes of the main file, of the log of recent commits beside it, and free on the volume.
    package func sizes() throws -> (database: Int64, wal: Int64, free: Int64) {
        return try translatingErrors {
            let volume = try FileManager.default.attributesOfFileSystem(forPath: directory.path)
            return (size(""), size("-wal"), (volume[.systemFreeSize] as? NSNumber)?.int64Value ?? 0)
        }
    }

    private func size(_ suffix: String) -> Int64 {
        Self.size(of: directory.appending(component: Self.fileName + suffix).path)
    }

    /// 0 where there is no file.
    static func size(of path: String) -> Int64 {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        return (attributes?[.size] as? NSNumber)?.int64Value ?? 0
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

    /// Pages given back to the system at a time: the writer waits meanwhile.
    private static let pagesGivenBack = 256

    /// Makes the file smaller by pages that nothing is in any more, a mebibyte at a time.
    ///
    /// - Returns: whether there are more.
    package func giveBackRoom() throws -> Bool {
        try checkOpen()
        return try translatingErrors {
            try pool.writeWithoutTransaction { database in
                try translatingErrors(on: database, "room could not be given back") {
                    let free = try Int64.fetchOne(database, sql: "PRAGMA freelist_count") ?? 0
                    guard free > 0 else {
                        // Until then the file is as long as before: what it lost is in the log of recent commits only.
                        if size("-wal") > 0 { _ = try? database.checkpoint(.passive) }
                        return false
                    }
                    // Each page is a step: the statement must be run to its end.
                    _ = try Row.fetchAll(database, sql: "PRAGMA incremental_vacuum(\(Self.pagesGivenBack))")
                    return true
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
            let filters: [MessageFilter] = [
                MessageFilter(types: [.text], excludedTypes: [.notice], customTypes: ["a", nil], senders: ["a", "b"]),
                .types([.image, .file]), .customTypes(["a"]), .mentionsMe, .hasMedia,
                .thread(MessageID(high: 0, low: 1)),
            ]
            let filtered = filters.flatMap { filter in
                [true, false].map { newestFirst in
                    let condition = FilterCondition(filter)
                    return Query.messages(newestFirst: newestFirst, index: condition.index, where: condition.sql)
                }
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
