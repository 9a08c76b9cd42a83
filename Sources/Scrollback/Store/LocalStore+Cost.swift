import GRDB
import GRDBSQLite

extension LocalReader {
    /// The number of steps in SQLite's virtual machine that the connection's cached statements have executed.
    ///
    /// Tests compare the cost of queries with it, because the number is the same on every machine.
    package var steps: Int {
        var sum = 0
        var next = sqlite3_next_stmt(db.sqliteConnection, nil)
        while let statement = next {
            sum += Int(sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0))
            next = sqlite3_next_stmt(db.sqliteConnection, statement)
        }
        return sum
    }
}
