import Foundation
import GRDB
import ScrollbackModel
import ScrollbackSQLite
import SQLiteSupport
import TestSupport
import Testing

@Suite struct SchemaTests {
    /// Opens the store of a new directory, in which an earlier version has applied the migrations before.
    ///
    /// - Parameters:
    ///   - migration: The last migration of the earlier version, or 0 if it stopped before the first one. With `nil`,
    ///     the directory is empty.
    ///   - body: Reads the closed store's file.
    private func openStore<Answer>(after migration: Int?, _ body: (Database) throws -> Answer) throws -> Answer {
        let folder = try TemporaryFolder()
        let path = folder.url.appending(component: SQLiteStore.fileName).path
        if let migration {
            let queue = try DatabaseQueue(path: path)
            if migration > 0 {
                try SQLiteStore.migrator.migrate(queue, upTo: "\(migration)")
            } else {
                try queue.write {
                    try $0.execute(sql: "CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)")
                }
            }
            try queue.close()
        }
        let store = try SQLiteStore(directory: folder.url)
        #expect(store.lastCommit == 0)
        try store.close()
        let queue = try DatabaseQueue(path: path)
        defer { try? queue.close() }
        return try queue.write(body)
    }

    private func description(_ database: Database) throws -> Set<String> {
        // The generation is random.
        try database.execute(sql: "UPDATE meta SET value = 1 WHERE name = 'generation'")
        #expect(database.changesCount == 1)
        return try database.schemaDescription()
    }

    @Test(arguments: 0...SQLiteStore.migrator.migrations.count)
    func `A new file has the tables and rows of a migrated one`(_ migration: Int) throws {
        let new = try openStore(after: nil, description)
        let migrated = try openStore(after: migration, description)
        #expect(new.subtracting(migrated).sorted() == [])
        #expect(migrated.subtracting(new).sorted() == [])
        #expect(new.count > 900)
    }

    @Test func `A new file runs no migration`() throws {
        func statement(_ database: Database) throws -> String? {
            try String.fetchOne(database, sql: "SELECT sql FROM sqlite_schema WHERE name = 'person'")
        }
        // SQLite quotes the new name of a table that a migration renamed.
        #expect(try openStore(after: 1, statement)?.hasPrefix("CREATE TABLE \"person\" (") == true)
        #expect(try openStore(after: nil, statement)?.hasPrefix("CREATE TABLE person (") == true)
    }

    @Test func `No write builds a temporary index for the checks of its table`() throws {
        func temporaryIndexes(_ database: Database, _ table: String) throws -> Int {
            let values = try database.columns(in: table).map { _ in "?" }.joined(separator: ", ")
            let steps = try Row.fetchAll(
                database, sql: "EXPLAIN INSERT INTO \(table) VALUES (\(values))",
                arguments: StatementArguments(repeatElement(0, count: database.columns(in: table).count)))
            return steps.count { $0["opcode"] == "OpenEphemeral" }
        }
        let found = try openStore(after: nil) { database in
            try String.fetchAll(
                database, sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            ).filter { try temporaryIndexes(database, $0) > 0 }
        }
        #expect(found == [])
        // A list of three values needs one.
        let list = try DatabaseQueue().write { database in
            try database.execute(sql: "CREATE TABLE t (a INTEGER CHECK (a IN (1, 2, 3)))")
            return try temporaryIndexes(database, "t")
        }
        #expect(list == 1)
    }

    @Test func `A new file stays empty if the creation of its tables fails`() throws {
        let queue = try DatabaseQueue()
        let migrator = SQLiteStore.migrator
        let failure = ChatError(.storageFull, "No space.")
        #expect(throws: failure) {
            try migrator.migrate(queue) { database in
                try database.execute(sql: "CREATE TABLE meta (name TEXT)")
                throw failure
            }
        }
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM sqlite_schema") } == 0)
    }

    @Test func `The description of a schema has each difference of columns, checks, keys and indexes`() throws {
        func description(_ sql: String) throws -> Set<String> {
            try DatabaseQueue().write { database in
                try database.execute(sql: sql)
                return try database.schemaDescription()
            }
        }
        let table = "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT NOT NULL DEFAULT 'x' CHECK (b <> 'y'));"
        let known = try description(table + "CREATE INDEX i ON t (b) WHERE b <> 'x'")
        let same = try description(
            """
            CREATE TABLE "t" (
                -- A comment.
                a INTEGER PRIMARY KEY);
            ALTER TABLE t ADD COLUMN b TEXT NOT NULL DEFAULT 'x'
                CHECK (b <> 'y');
            CREATE INDEX "i" ON "t" (b) WHERE b <> 'x';
            """)
        #expect(same == known)
        for (old, new) in [
            ("'x' CHECK", "'z' CHECK"), ("b <> 'y'", "b <> 'z'"), ("TEXT NOT NULL", "TEXT"), ("TEXT", "BLOB"),
            ("KEY,", "KEY AUTOINCREMENT,"), ("'y'))", "'y')) STRICT"), ("a INTEGER PRIMARY KEY, ", ""),
        ] {
            let other = try description(table.replacing(old, with: new) + "CREATE INDEX i ON t (b) WHERE b <> 'x'")
            #expect(other != known, "\(new)")
        }
        for index in ["CREATE INDEX i ON t (b)", "CREATE INDEX i ON t (b) WHERE b <> 'y'", "CREATE INDEX j ON t (b)"] {
            #expect(try description(table + index) != known, "\(index)")
        }
        let row = "; INSERT INTO t (a) VALUES (1)"
        #expect(try description(table + "CREATE INDEX i ON t (b) WHERE b <> 'x'" + row) != known)
    }
}
