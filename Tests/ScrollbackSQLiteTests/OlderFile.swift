import Foundation
import GRDB
import ScrollbackSQLite

/// Undoes migrations of a closed store's file, so that the next start applies them again.
///
/// It always undoes migration 24, which renamed tables and columns, and 25, which copied tables.
///
/// - Parameters:
///   - migrations: The other migrations to undo.
///   - sql: Statements that undo them, with the names of schema 23.
func undoMigrations(_ migrations: [Int] = [], of file: URL, _ sql: String = "") throws {
    let queue = try DatabaseQueue(path: file.path)
    try queue.write { database in
        for (table, old, new) in SQLiteStore.renamedColumns.reversed() {
            try database.execute(sql: "ALTER TABLE \(table) RENAME COLUMN \(new) TO \(old)")
        }
        for (old, new) in SQLiteStore.renamedTables.reversed() {
            try database.execute(sql: "ALTER TABLE \(new) RENAME TO \(old)")
        }
        try database.execute(
            sql: """
                DROP INDEX person_state;
                CREATE INDEX user_state ON user (state, id) WHERE state <> 0;
                UPDATE meta SET name = 'moved' WHERE name = 'lastCommit';
                """)
        try database.execute(sql: sql)
        for migration in migrations + [24, 25] {
            try database.execute(
                sql: "DELETE FROM grdb_migrations WHERE identifier = ?", arguments: ["\(migration)"])
        }
    }
    try queue.close()
}
