import ScrollbackPostgres
import TestSupport
import Testing

/// Databases whose tables an earlier version of the server has made.
@Suite(.needs(.postgres)) struct PostgresSchemaTests {
    let database: PostgresDatabase

    init() throws {
        database = try PostgresDatabase()
    }

    /// Creates a database with the tables of an earlier version.
    ///
    /// - Parameter count: The number of migrations of that version, or 0 if it stopped before the first one.
    private func makeDatabase(afterMigrations count: Int) throws -> PostgresURL {
        let url = try database.makeSchema()
        try PostgresStore.migrate(url.connect(), to: Array(PostgresStore.migrations.prefix(count)), isAlone: true)
        return url
    }

    private func openStore(_ url: PostgresURL) throws {
        try PostgresStore(url, options: PostgresDatabase.options).close()
    }

    // MARK: Tables

    /// Describes the tables, columns, constraints and indexes, one line for each.
    private func description(_ url: PostgresURL) throws -> Set<String> {
        let lines = try url.texts(
            """
            WITH relation AS (SELECT * FROM pg_class WHERE relnamespace = current_schema()::regnamespace)
            SELECT concat_ws(' ', relname, relkind, relpersistence, relrowsecurity, reloptions) FROM relation
            UNION ALL
            SELECT concat_ws(
                ' ', relname, 'column', row_number() OVER (PARTITION BY attrelid ORDER BY attnum), attname,
                format_type(atttypid, atttypmod), attcollation::regcollation, attstorage, attnotnull, attidentity,
                attgenerated, pg_get_expr(adbin, adrelid))
            FROM pg_attribute JOIN relation ON relation.oid = attrelid
                LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
            WHERE relkind = 'r' AND attnum > 0 AND NOT attisdropped
            UNION ALL
            SELECT concat_ws(' ', relname, 'constraint', conname, pg_get_constraintdef(pg_constraint.oid))
            FROM pg_constraint JOIN relation ON relation.oid = conrelid
            UNION ALL
            SELECT replace(pg_get_indexdef(indexrelid), current_schema() || '.', '')
            FROM pg_index JOIN relation ON relation.oid = indexrelid
            """)
        return Set(lines)
    }

    @Test(arguments: 0...PostgresStore.migrations.count)
    func `A migrated database has the tables of a new one`(_ count: Int) throws {
        let (old, new) = (try makeDatabase(afterMigrations: count), try database.makeSchema())
        for url in [old, new] { try openStore(url) }
        let (migrated, expected) = (try description(old), try description(new))
        #expect(expected.subtracting(migrated).sorted() == [])
        #expect(migrated.subtracting(expected).sorted() == [])
        #expect(expected.count > 500)
    }

    @Test func `The description of a database has each difference of columns, constraints and indexes`() throws {
        func description(_ script: String) throws -> Set<String> {
            let url = try database.makeSchema()
            try url.execute(script)
            return try self.description(url)
        }
        let script = """
            CREATE TABLE t (a BIGINT PRIMARY KEY, b TEXT COLLATE "C" NOT NULL DEFAULT 'x' CHECK (b <> 'y'));
            CREATE INDEX i ON t (b) WHERE b <> 'z'
            """
        let known = try description(script)
        #expect(try description(script) == known)
        for (old, new) in [
            ("BIGINT PRIMARY KEY", "BIGINT UNIQUE"), ("BIGINT", "INTEGER"), (" COLLATE \"C\"", ""), (" NOT NULL", ""),
            ("DEFAULT 'x'", "DEFAULT 'w'"), ("'y'))", "'w'))"), ("'y'))", "'y')) WITH (fillfactor = 70)"),
            ("i ON t (b)", "i ON t (a, b)"), ("'z'", "'w'"), ("CREATE INDEX", "CREATE UNIQUE INDEX"),
            ("BIGINT PRIMARY KEY", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"),
            ("CREATE TABLE", "CREATE UNLOGGED TABLE"), ("'z'", "'z'; ALTER TABLE t ALTER COLUMN b SET STORAGE MAIN"),
        ] {
            #expect(try description(script.replacing(old, with: new)) != known, "\(new)")
        }
    }

    // MARK: Rows

    /// Stores a row in each table that has none.
    private func fill(_ url: PostgresURL) throws {
        // Checks limit the length of some columns, and permit 1 in all others.
        let statements = try url.texts(
            """
            SELECT format(
                'INSERT INTO %I (%s) VALUES (%s)', table_name, string_agg(quote_ident(column_name), ', '),
                string_agg(
                    CASE data_type
                        WHEN 'bigint' THEN '1'
                        WHEN 'double precision' THEN '1.5'
                        WHEN 'boolean' THEN 'true'
                        WHEN 'uuid' THEN 'gen_random_uuid()'
                        WHEN 'bytea' THEN format(
                            'decode(repeat(''61'', %s), ''hex'')', CASE column_name WHEN 'words' THEN 128 ELSE 32 END)
                        ELSE '''a'''
                    END, ', '))
            FROM information_schema.columns
            WHERE table_schema = current_schema() AND is_identity = 'NO'
                AND table_name NOT IN ('migration', 'storestate')
            GROUP BY table_name
            """)
        try url.execute(statements.joined(separator: ";"))
    }

    /// Returns the values of all rows, one line for each value.
    private func values(_ url: PostgresURL) throws -> Set<String> {
        let tables = try url.texts("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
        // A server that opens the database stores its ID in the column `server`.
        let queries = tables.map { table in
            """
            SELECT concat_ws(' ', '\(table)', value.name, value.text)
            FROM \(table) AS t, jsonb_each_text(to_jsonb(t)) AS value (name, text) WHERE value.name <> 'server'
            """
        }
        return try Set(url.texts(queries.joined(separator: " UNION ALL ")))
    }

    @Test(arguments: 1...PostgresStore.migrations.count)
    func `A migration keeps the rows of each table`(_ count: Int) throws {
        let url = try makeDatabase(afterMigrations: count)
        try fill(url)
        let before = try values(url)
        try openStore(url)
        #expect(try before.subtracting(values(url)).sorted() == [])
        #expect(before.count > 300)
    }
}
