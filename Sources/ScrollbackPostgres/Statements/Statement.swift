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
    let decode: @Sendable (inout Columns) throws -> Row

    /// Creates a statement whose parameters are numbered (`$1`), or each written as `?`.
    init(_ sql: String, _ decode: @escaping @Sendable (inout Columns) throws -> Row) {
        self.sql = numbered(sql)
        self.decode = decode
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
    /// Creates a statement that changes one row, and fails if it does not exist.
    ///
    /// PostgreSQL itself must refuse the statement, because the commit may be sent with it.
    init(updatingOne sql: String) {
        self.init("WITH changed AS (\(sql) RETURNING 1) SELECT 1 / count(*) FROM changed")
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
func excluded(_ columns: String) -> String {
    columns.split(separator: ", ").map { "excluded.\($0)" }.joined(separator: ", ")
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
