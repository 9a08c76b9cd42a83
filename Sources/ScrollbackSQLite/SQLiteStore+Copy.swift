import Foundation
import GRDB
package import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

/// Reads all rows to copy them to another store, and receives the rows of another store.
///
/// Encrypted values stay encrypted.
extension SQLiteStore: CopyableStore {
    package var storedState: StoredState {
        StoredState(generation: generation, lastCommit: lastCommit, newest: newest)
    }

    package func storedTables() throws -> [StoredTable] {
        try readConnection { connection in
            try Self.tableNames(connection).map { table in
                var (key, others): ([(position: Int64, column: StoredColumn)], [StoredColumn]) = ([], [])
                try connection.run(
                    uncached: "SELECT name, type, pk FROM pragma_table_info(?)", bind: { $0.add(table) },
                    row: { values in
                        let column = StoredColumn(name: values.text().lowercased(), type: values.text())
                        let position = values.integer()
                        if position > 0 { key.append((position, column)) } else { others.append(column) }
                        return true
                    })
                return StoredTable(
                    name: table.lowercased(), key: key.sorted { $0.position < $1.position }.map(\.column),
                    others: others)
            }
            .sorted { $0.name < $1.name }
        }
    }

    /// All tables but those of the file itself: its migrations, its state, and its encryption.
    private static func tableNames(_ connection: SQLiteConnection) throws -> [String] {
        var names: [String] = []
        try connection.run(
            uncached: """
                SELECT name FROM sqlite_schema
                WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
                    AND name NOT IN ('grdb_migrations', 'meta', 'storeKey', 'sealing')
                """,
            row: { values in
                names.append(values.text())
                return true
            })
        return names
    }

    package func storedRows(
        of table: StoredTable, after key: [StoredValue]?, limit: Int
    ) throws -> [StoredValues] {
        func list(_ columns: [StoredColumn]) -> String {
            columns.map { "\"\($0.name)\"" }.joined(separator: ", ")
        }
        let order = list(table.key)
        let after = key == nil ? "" : "WHERE (\(order)) > (\(placeholders(order)))"
        return try readConnection { connection in
            var rows: [StoredValues] = []
            try connection.run(
                uncached: """
                    SELECT \(list(table.columns)) FROM "\(table.name)" \(after) ORDER BY \(order) LIMIT \(limit)
                    """,
                bind: { parameters in
                    for (column, value) in zip(table.key, key ?? []) { parameters.add(value, as: column.type) }
                },
                row: { values in
                    rows.append(table.columns.map { values.stored(as: $0.type) })
                    return true
                })
            return rows
        }
    }

    /// Returns the number of rows of all tables.
    package func storedRowCount() throws -> Int64 {
        let tables = try storedTables()
        return try readConnection { connection in
            var count: Int64 = 0
            for table in tables {
                try connection.run(uncached: "SELECT count(*) FROM \"\(table.name)\"") { values in
                    count += values.integer()
                    return true
                }
            }
            return count
        }
    }

    /// Replaces the contents of a new store by the rows of another one.
    ///
    /// - Parameter progress: Called with the number of rows so far.
    package func fill(from source: some CopyableStore, progress: (Int64) -> Void) throws {
        let state = try source.storedState
        var done: Int64 = 0
        for (target, table) in try StoredTable.pairs(storedTables(), with: source.storedTables()) {
            var last: [StoredValue]?
            repeat {
                let rows = try source.storedRows(of: table, after: last, limit: 500)
                try append(rows, to: target)
                done += Int64(rows.count)
                progress(done)
                last = rows.last.map { table.key(of: $0) }
            } while last != nil
        }
        try writing { connection in
            try connection.run(
                uncached: "UPDATE meta SET value = CASE name WHEN 'generation' THEN ? ELSE ? END",
                bind: { parameters in
                    parameters.add(bits: state.generation)
                    parameters.add(state.lastCommit)
                }, row: { _ in true })
        }
    }

    private func append(_ rows: [StoredValues], to table: StoredTable) throws {
        let columns = table.columns.map { "\"\($0.name)\"" }.joined(separator: ", ")
        try writing { connection in
            let insert = try connection.database.makeStatement(
                sql: "INSERT INTO \"\(table.name)\" (\(columns)) VALUES (\(placeholders(columns)))")
            for row in rows {
                try connection.run(
                    insert,
                    bind: { parameters in
                        for (column, value) in zip(table.columns, row) { parameters.add(value, as: column.type) }
                    }, row: { _ in true })
            }
        }
    }

    /// Returns the last numbers of the tables whose numbers are never used again.
    package func lastNumbers() throws -> [(table: String, last: Int64)] {
        try readConnection { connection in
            var numbers: [(table: String, last: Int64)] = []
            try connection.run(
                uncached: "SELECT name, seq FROM sqlite_sequence",
                row: { values in
                    numbers.append((values.text().lowercased(), values.integer()))
                    return true
                })
            return numbers
        }
    }
}

/// The tables are strict, so the type of a column is that of its values.
extension Columns {
    fileprivate mutating func stored(as type: String) -> StoredValue {
        switch type {
        case "INTEGER": optionalInteger().map { .integer($0) } ?? .null
        case "REAL": optionalNumber().map { .number($0) } ?? .null
        default: optionalBytes().map { .bytes($0) } ?? .null
        }
    }
}

extension Parameters {
    fileprivate mutating func add(_ value: StoredValue, as type: String) {
        switch value {
        case .null: addNull()
        case .integer(let number): add(number)
        case .number(let number): add(Date(timeIntervalSinceReferenceDate: number))
        case .bytes(let bytes) where type == "TEXT": add(utf8: bytes)
        case .bytes(let bytes): add(bytes: bytes)
        }
    }
}
