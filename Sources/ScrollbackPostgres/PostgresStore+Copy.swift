import Foundation
package import ScrollbackEngine
import ScrollbackModel

/// Reads all rows, to copy or compare them.
extension PostgresStore: CopyableStore {
    package var storedState: StoredState {
        get throws { try reading { StoredState(try StoreState.read(on: $0)) } }
    }

    package func storedTables() throws -> [StoredTable] { try reading { try StoredRows.tables(on: $0) } }

    package func storedRows(
        of table: StoredTable, after key: [StoredValue]?, limit: Int
    ) throws -> [StoredValues] {
        try reading { try StoredRows.rows(of: table, after: key, limit: limit, on: $0) }
    }

    /// Returns the number of rows of tables.
    package func storedRowCount(of tables: [StoredTable]) throws -> Int64 {
        try reading { try StoredRows.count(of: tables, on: $0) }
    }

    /// Returns the key of the last row of a table.
    package func lastKey(of table: StoredTable) throws -> [StoredValue]? {
        try reading { try StoredRows.lastKey(of: table, on: $0) }
    }

    private func reading<Answer>(_ body: (PostgresConnection) throws -> Answer) throws -> Answer {
        try translatingErrors("The database could not be read.") {
            try readers.transaction(begin: { try $0.beginRead() }) { connection, _ in try body(connection) }
        }
    }
}

/// The statements that read all rows.
enum StoredRows {
    static func tables(on connection: PostgresConnection) throws -> [StoredTable] {
        let columns = try connection.all(columns)
        return Dictionary(grouping: columns, by: \.table).map { name, columns in
            StoredTable(
                name: name,
                key: columns.filter { $0.keyPosition > 0 }.sorted { $0.keyPosition < $1.keyPosition }.map(\.column),
                others: columns.filter { $0.keyPosition == 0 }.map(\.column))
        }
        .sorted { $0.name < $1.name }
    }

    static func rows(
        of table: StoredTable, after key: [StoredValue]?, limit: Int, on connection: PostgresConnection
    ) throws -> [StoredValues] {
        let order = list(table.key)
        let conditions =
            (key == nil ? [] : ["(\(order)) > (\(placeholders(order)))"])
            // The secrets of the nodes are not users' data.
            + (table.name == "setting" ? ["name <> 'secrets'"] : [])
        var rows: [StoredValues] = []
        // Large rows may take longer than a statement of a server.
        try connection.runLongStatements {
            try connection.run(
                uncached: """
                    SELECT \(list(table.columns)) FROM \(table.name)
                    \(conditions.isEmpty ? "" : "WHERE \(conditions.joined(separator: " AND "))")
                    ORDER BY \(order) LIMIT \(limit)
                    """,
                bind: { parameters in
                    for (column, value) in zip(table.key, key ?? []) { parameters.add(value, as: column.type) }
                },
                row: { values in rows.append(table.columns.map { values.stored(as: $0.type) }) })
        }
        return rows
    }

    static func count(of tables: [StoredTable], on connection: PostgresConnection) throws -> Int64 {
        var count: Int64 = 0
        try connection.runLongStatements {
            for table in tables {
                try connection.run(uncached: "SELECT count(*) FROM \(table.name)", row: { count += $0.integer() })
            }
        }
        return count
    }

    static func lastKey(of table: StoredTable, on connection: PostgresConnection) throws -> [StoredValue]? {
        let order = table.key.map { "\"\($0.name)\" DESC" }.joined(separator: ", ")
        var key: [StoredValue]?
        try connection.run(
            uncached: "SELECT \(list(table.key)) FROM \(table.name) ORDER BY \(order) LIMIT 1",
            row: { values in key = table.key.map { values.stored(as: $0.type) } })
        return key
    }

    static func list(_ columns: [StoredColumn]) -> String {
        columns.map { "\"\($0.name)\"" }.joined(separator: ", ")
    }

    /// All tables but those of the database itself: its migrations, its state, and the notes of commits.
    ///
    /// The key of messages is a unique index.
    private static let columns = Statement(
        """
        SELECT c.relname::text, a.attname::text, t.typname::text,
            coalesce(array_position(i.indkey::int2[], a.attnum) + 1, 0)
        FROM pg_class c
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            JOIN pg_type t ON t.oid = a.atttypid
            JOIN pg_index i ON i.indrelid = c.oid
            JOIN pg_class n ON n.oid = i.indexrelid
        WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
            AND c.relname NOT IN ('migration', 'storestate', 'commitnote')
            AND (i.indisprimary OR n.relname = 'message_conversation_seq_key')
        """
    ) { columns in
        let table = columns.text()
        let column = StoredColumn(name: columns.text(), type: columns.text())
        return (table: table, column: column, keyPosition: columns.integer())
    }
}

/// One consistent state of a database, which a server can use at the same time.
package final class PostgresSnapshot: CopyableStore {
    package let storedState: StoredState
    private let connection: PostgresConnection

    /// - Throws: `invalid-parameter` if the database can't be used, or another version of the server wrote it.
    package init(_ url: PostgresURL) throws {
        do {
            connection = try PostgresConnection(
                url, timeout: .seconds(10), idleTransactionTimeout: .seconds(3600))
            try connection.beginRead()
            try PostgresStore.checkSchema(connection)
            storedState = StoredState(try StoreState.read(on: connection))
        } catch let error as PostgresError {
            throw error.openingError
        }
    }

    package func storedTables() throws -> [StoredTable] {
        try translatingErrors { try StoredRows.tables(on: connection) }
    }

    package func storedRows(
        of table: StoredTable, after key: [StoredValue]?, limit: Int
    ) throws -> [StoredValues] {
        try translatingErrors { try StoredRows.rows(of: table, after: key, limit: limit, on: connection) }
    }

    /// Returns the number of rows of tables.
    package func storedRowCount(of tables: [StoredTable]) throws -> Int64 {
        try translatingErrors { try StoredRows.count(of: tables, on: connection) }
    }

    private func translatingErrors<Answer>(_ body: () throws -> Answer) throws -> Answer {
        do {
            return try body()
        } catch let error as PostgresError {
            throw error.chatError("The database could not be read.")
        }
    }
}

/// Receives the rows of another store.
///
/// Until all of them are there, the database does not open as a store.
extension PostgresStore {
    /// Begins a copy in an empty database, or continues an interrupted one.
    ///
    /// The store must have been opened with ``Options/opensIncompleteCopy``.
    ///
    /// - Parameters:
    ///   - tables: The tables that get rows. The schema may have tables of other programs, too.
    ///   - source: The state of the store whose rows are copied.
    ///   - restarts: Whether to delete the rows of an interrupted copy.
    /// - Throws: `invalid-parameter` if the database has a store, or an interrupted copy of another one.
    package func beginCopy(to tables: [StoredTable], of source: StoredState, restarts: Bool) throws {
        try copying { connection, state in
            if try connection.first(Self.isIncomplete) == true {
                guard restarts || StoredState(state) == source else {
                    throw ChatError.invalidParameter(
                        "store",
                        "names a database with an incomplete copy of another store, or of this one before it changed. "
                            + "Pass --restart to delete that copy and begin again")
                }
                if restarts {
                    let names = tables.map(\.name).joined(separator: ", ")
                    try connection.runLongStatements { try connection.run(uncached: "TRUNCATE \(names)") }
                }
            } else if try connection.first(Self.hasRows) == true {
                throw ChatError.invalidParameter(
                    "store", "names a database that has messages already. Use an empty database")
            }
            state.generation = source.generation
            state.lastCommit = source.lastCommit
            state.newest = source.newest
            try connection.enqueue(Self.setIncomplete) { $0.add(true) }
        }
    }

    /// Whether the database has all rows of a store, and maybe changes since then.
    package func isCompleteCopy(of source: StoredState) throws -> Bool {
        try reading { connection in
            try connection.first(Self.isIncomplete) == false && generation == source.generation
        }
    }

    /// Adds rows.
    package func append(_ rows: [StoredValues], to table: StoredTable) throws {
        guard !rows.isEmpty else { return }
        let row = "(\(placeholders(StoredRows.list(table.columns))))"
        let values = Array(repeating: row, count: rows.count).joined(separator: ", ")
        try copying { connection, _ in
            // If PostgreSQL stops and loses the newest rows, they are copied again. The end of the copy is durable.
            try connection.enqueue(Self.commitWithoutWaiting)
            try connection.runLongStatements {
                try connection.run(
                    uncached: """
                        INSERT INTO \(table.name) (\(StoredRows.list(table.columns))) OVERRIDING SYSTEM VALUE
                        VALUES \(values)
                        """,
                    bind: { parameters in
                        for row in rows {
                            for (column, value) in zip(table.columns, row) { parameters.add(value, as: column.type) }
                        }
                    })
            }
        }
    }

    /// Waits until all rows are durable.
    package func syncCopy() throws { try copying { _, _ in } }

    /// Ends a copy that has all rows, after which the database opens as a store.
    ///
    /// - Parameters:
    ///   - tables: The tables that got rows.
    ///   - lastNumbers: The last numbers of the tables whose numbers are never used again.
    ///   - keepsUploads: Whether the bytes of unfinished uploads are still available.
    package func finishCopy(
        to tables: [StoredTable], lastNumbers: [(table: String, last: Int64)], keepsUploads: Bool
    ) throws {
        let numbered = tables.filter { $0.key.map(\.name) == ["number"] }
        try copying { connection, _ in
            for table in numbered {
                let last = lastNumbers.first { $0.table == table.name }?.last ?? 0
                try connection.run(
                    uncached: """
                        SELECT setval(pg_get_serial_sequence('\(table.name)', 'number'),
                            (SELECT greatest(max(number), \(last)) + 1 FROM \(table.name)), false)
                        """)
            }
            if !keepsUploads { try connection.enqueue(Self.deleteUploads) }
            try connection.enqueue(Self.setIncomplete) { $0.add(false) }
        }
    }

    private func copying(_ body: (PostgresConnection, inout StoreState) throws -> Void) throws {
        try translatingErrors("The database could not be written.") {
            try writer.transaction(begin: { try StoreState.beginTransaction(on: $0) }) { connection, found in
                try checkIsOwn(found)
                var state = found
                try body(connection, &state)
                try state.commit(on: connection)
                remember(state)
            }
        }
    }

    /// Whether the rows of another store are missing.
    static let isIncomplete = Statement("SELECT isIncomplete FROM storeState") { $0.flag() }
    private static let setIncomplete = Statement("UPDATE storeState SET isIncomplete = ?")
    private static let hasRows = Statement(
        """
        SELECT lastCommit > 0 OR EXISTS (SELECT FROM person) OR EXISTS (SELECT FROM incarnation)
        FROM storeState
        """
    ) { $0.flag() }
    private static let deleteUploads = Statement("DELETE FROM upload WHERE state = 0")
    private static let commitWithoutWaiting = Statement("SET LOCAL synchronous_commit = off")
}

extension StoredState {
    fileprivate init(_ state: StoreState) {
        self.init(generation: state.generation, lastCommit: state.lastCommit, newest: state.newest)
    }
}

extension Columns {
    fileprivate mutating func stored(as type: String) -> StoredValue {
        switch type {
        case "int8", "bool": optionalInteger().map { .integer($0) } ?? .null
        case "float8": optionalDate().map { .number($0.timeIntervalSinceReferenceDate) } ?? .null
        default: optionalBytes().map { .bytes($0) } ?? .null
        }
    }
}

extension Parameters {
    fileprivate mutating func add(_ value: StoredValue, as type: String) {
        switch (value, type) {
        case (.integer(let number), "bool"): add(number != 0)
        case (.integer(let number), _): add(number)
        case (.number(let number), _): add(Date(timeIntervalSinceReferenceDate: number))
        case (.bytes(let bytes), "text"): add(bytes, as: .text)
        case (.bytes(let bytes), "uuid"): add(bytes, as: .uuid)
        case (.bytes(let bytes), _): add(bytes, as: .bytes)
        case (.null, "bool"): addNull(.flag)
        case (.null, "int8"): addNull(.integer)
        case (.null, "float8"): addNull(.number)
        case (.null, "text"): addNull(.text)
        case (.null, "uuid"): addNull(.uuid)
        case (.null, _): addNull(.bytes)
        }
    }
}
