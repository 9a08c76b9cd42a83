package import GRDB

extension DatabaseMigrator {
    /// Migrates a database to the newest schema.
    ///
    /// An empty database gets the newest tables directly, in one transaction that also records all migrations. This
    /// takes a small part of the time of the migrations.
    ///
    /// - Parameter createNewest: Creates the tables, and their first rows, that all migrations together create.
    package func migrate(
        _ writer: any DatabaseWriter, creatingIfEmpty createNewest: (Database) throws -> Void
    ) throws {
        try writer.writeWithoutTransaction { database in
            guard try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_schema") == 0 else { return }
            try database.inTransaction(.immediate) {
                try createNewest(database)
                try recordAll(database)
                return .commit
            }
        }
        try migrate(writer)
    }

    /// Records all migrations as applied, in the table that `DatabaseMigrator` reads.
    private func recordAll(_ database: Database) throws {
        try database.execute(sql: "CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)")
        for identifier in migrations {
            try database.execute(
                sql: "INSERT INTO grdb_migrations (identifier) VALUES (?)", arguments: [identifier])
        }
    }
}
