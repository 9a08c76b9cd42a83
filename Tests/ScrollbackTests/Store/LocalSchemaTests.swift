import Foundation
import GRDB
import Scrollback
import TestSupport
import Testing

@Suite("The tables of the local store")
struct LocalSchemaTests {
    /// Opens a store on disk whose file an earlier version has migrated, or a new one, and reads the closed file.
    private func openStore<Answer>(after migration: Int?, _ body: (Database) throws -> Answer) throws -> Answer {
        let folder = try TemporaryFolder()
        let path = folder.url.appending(component: "client.sqlite").path
        if let migration {
            let queue = try DatabaseQueue(path: path)
            try LocalStore.migrator.migrate(queue, upTo: "\(migration)")
            try queue.close()
        }
        try LocalStore(directory: folder.url, user: "alice").close()
        let queue = try DatabaseQueue(path: path)
        defer { try? queue.close() }
        return try queue.read(body)
    }

    @Test(
        "A new file has the tables and rows of a migrated one",
        arguments: 1...LocalStore.migrator.migrations.count)
    func newFile(migration: Int) throws {
        let new = try openStore(after: nil) { try $0.schemaDescription() }
        let migrated = try openStore(after: migration) { try $0.schemaDescription() }
        #expect(new.subtracting(migrated).sorted() == [])
        #expect(migrated.subtracting(new).sorted() == [])
        #expect(new.count > 350)
    }

    @Test("A new file runs no migration")
    func noMigration() throws {
        func statement(_ database: Database) throws -> String? {
            try String.fetchOne(database, sql: "SELECT sql FROM sqlite_schema WHERE name = 'upload'")
        }
        // SQLite quotes the new name of a table that a migration renamed.
        #expect(try openStore(after: 1, statement)?.hasPrefix("CREATE TABLE \"upload\" (") == true)
        #expect(try openStore(after: nil, statement)?.hasPrefix("CREATE TABLE upload (") == true)
    }
}
