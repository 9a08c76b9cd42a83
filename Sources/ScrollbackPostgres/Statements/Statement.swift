import Synchronization

/// The number of statements that this process has declared.
private let statementCount = Mutex(0)

/// The SQL of a statement, and how to decode its rows.
///
/// Declare each statement as a static constant beside the method that runs it: every connection prepares it once, and
/// finds it by its index.
struct Statement<Row>: Sendable {
    let sql: String
    /// The index among the prepared statements of a connection.
    let index: Int
    /// The tables that the statement changes, of which the transaction forgets what it has read ahead.
    let changedTables: Set<String>
    let decode: @Sendable (inout Columns) throws -> Row

    /// Creates a statement whose parameters are numbered (`$1`), or each written as `?`.
    ///
    /// - Parameter tables: The tables of which the transaction forgets what it has read ahead; `nil` for those that the
    ///   statement changes.
    init(
        _ sql: String, changing tables: Set<String>? = nil,
        _ decode: @escaping @Sendable (inout Columns) throws -> Row
    ) {
        self.sql = numbered(sql)
        self.decode = decode
        // The update of an upsert names no table.
        let changes = sql.matches(of: /(?:INSERT INTO|UPDATE|DELETE FROM) (?!SET\b)(\w+)/)
        changedTables = tables ?? Set(changes.map { String($0.1) })
        index = statementCount.withLock { count in
            defer { count += 1 }
            return count
        }
    }
}

extension Statement<Void> {
    /// Creates a statement that returns no rows.
    init(_ sql: String) {
        self.init(sql) { _ in }
    }
}

extension Statement<Void> {
    /// Creates a statement that adds or replaces the rows whose columns are in arrays.
    ///
    /// - Parameters:
    ///   - columns: The columns, separated by `, `.
    ///   - conflict: What to do with a row that exists, such as `(number) DO NOTHING`; `nil` if that is an error.
    init(insertingInto table: String, _ columns: String, onConflict conflict: String? = nil) {
        self.init(
            "INSERT INTO \(table) (\(columns)) SELECT * FROM unnest(\(placeholders(columns)))"
                + (conflict.map { " ON CONFLICT \($0)" } ?? ""))
    }

    /// Creates a statement that changes the rows whose columns are in arrays, and fails if one does not exist.
    ///
    /// - Parameters:
    ///   - columns: The columns to change, separated by `, `.
    ///   - key: The columns that identify a row. Their values come after the others.
    init(updating table: String, _ columns: String, key: String) {
        let all = "\(columns), \(key)"
        let keys = key.split(separator: ", ").map { "\(table).\($0) = new.\($0)" }.joined(separator: " AND ")
        self.init(
            """
            WITH changed AS (
                UPDATE \(table) SET (\(columns)) = (\(prefixed(columns, "new")))
                FROM unnest(\(placeholders(all))) AS new (\(all)) WHERE \(keys) RETURNING 1
            ) SELECT 1 / (count(*) = cardinality($1))::int FROM changed
            """)
    }
}

extension Statement where Row: StoredRow {
    /// Creates a statement that returns the columns of a row type.
    init(_ sql: String) {
        self.init(sql) { try Row(&$0) }
    }
}

/// A row type that several statements read.
protocol StoredRow: SendableMetatype {
    /// The columns, separated by `, `, in the order in which they are read.
    static var columns: String { get }

    /// Reads the columns.
    init(_ columns: inout Columns) throws
}

/// Returns a `?` for each column of a list.
func placeholders(_ columns: String) -> String {
    columns.split(separator: ", ").map { _ in "?" }.joined(separator: ", ")
}

/// Returns the columns of a list with the values of a row that an upsert could not insert.
func excluded(_ columns: String) -> String { prefixed(columns, "excluded") }

/// Returns the columns of a list with the name of their table.
func prefixed(_ columns: String, _ table: String) -> String {
    columns.split(separator: ", ").map { "\(table).\($0)" }.joined(separator: ", ")
}

/// Replaces each `?` with the number of its parameter.
func numbered(_ sql: String) -> String {
    var count = 0
    return sql.reduce(into: "") { text, character in
        guard character == "?" else { return text.append(character) }
        count += 1
        text += "$\(count)"
    }
}
