package import Foundation
package import ScrollbackPostgres
import Synchronization

/// Empty stores on the server of `scripts/test-postgres.sh`, each in a schema of its own.
///
/// Tests that use it have the trait `needs(.postgres)`. The schemas are deleted with this object.
package final class PostgresDatabase: Sendable {
    private let url: String
    private let schemas = Mutex<[String]>([])
    private let roles = Mutex<[String]>([])

    /// The Unix socket of the server.
    package struct Socket: Sendable {
        /// The directory, as it is named in the URL of a database.
        package let directory: String
        package let name = ".s.PGSQL.5432"
        package var file: URL { URL(filePath: directory).appending(component: name) }
    }

    package var socket: Socket { Socket(directory: url.components(separatedBy: "host=").last ?? "") }

    package init() throws {
        url = try String(contentsOfFile: Requirement.postgres.path(), encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    deinit {
        let statements =
            schemas.withLock { $0.map { "DROP SCHEMA \($0) CASCADE;" } }
            + roles.withLock { $0.map { "DROP ROLE \($0);" } }
        try? PostgresURL(url).execute(statements.joined())
    }

    /// Creates a schema and returns the URL of the database that selects it.
    package func makeSchema() throws -> PostgresURL {
        let name = "test_" + UUID().uuidString.lowercased().replacing("-", with: "")
        schemas.withLock { $0.append(name) }
        try PostgresURL(url).execute("CREATE SCHEMA \(name)")
        return try PostgresURL("\(url)&options=-csearch_path%3D\(name)&application_name=\(name)")
    }

    /// Creates a role that may not create tables, and returns the URL of the database with this role.
    package func makeRestrictedRole() throws -> PostgresURL {
        let role = "test_" + UUID().uuidString.lowercased().replacing("-", with: "")
        roles.withLock { $0.append(role) }
        try PostgresURL(url).execute("CREATE ROLE \(role) LOGIN")
        let restricted = url.replacing("postgres://scrollback@", with: "postgres://\(role)@")
        return try PostgresURL(restricted + "&options=-csearch_path%3Dpg_catalog")
    }

    /// Runs statements in a schema.
    package func execute(_ script: String, on url: PostgresURL) throws { try url.execute(script) }

    /// Ends all sessions of the stores in a schema, and waits until they ended.
    package func endSessions(of url: PostgresURL) throws {
        try execute(
            """
            SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
            WHERE application_name = current_setting('application_name') AND pid <> pg_backend_pid()
            """, on: url)
    }

    /// Returns whether a server has the lock of a schema.
    package func isLocked(_ url: PostgresURL) -> Bool { hasLock("locktype = 'advisory' AND granted", of: url) }

    /// Returns whether a transaction of a store in a schema waits for another one.
    package func hasWaitingTransaction(_ url: PostgresURL) -> Bool { hasLock("NOT granted", of: url) }

    private func hasLock(_ condition: String, of url: PostgresURL) -> Bool {
        has(
            """
            EXISTS (
                SELECT FROM pg_locks JOIN pg_stat_activity USING (pid)
                WHERE \(condition) AND application_name = current_setting('application_name')
            )
            """, url)
    }

    /// Returns whether a condition is true in a schema.
    package func has(_ condition: String, _ url: PostgresURL) -> Bool { url.has(condition) }

    /// Opens a store in a new schema, with time limits that a busy machine does not reach.
    package func makeStore() throws -> PostgresStore { try PostgresStore(makeSchema(), options: Self.options) }

    package static var options: PostgresStore.Options {
        var options = PostgresStore.Options()
        options.timeout = .seconds(300)
        options.idleTransactionTimeout = .seconds(300)
        options.lockTimeout = .seconds(300)
        return options
    }

    /// The options of stores that use a database at the same time.
    package static var sharedOptions: PostgresStore.Options {
        var options = Self.options
        options.isShared = true
        return options
    }
}

extension PostgresURL {
    /// Opens a connection with time limits that a busy machine does not reach.
    package func connect() throws -> PostgresConnection {
        try PostgresConnection(self, timeout: .seconds(300), idleTransactionTimeout: .seconds(300))
    }

    /// Runs statements in the database.
    package func execute(_ script: String) throws { try connect().execute(script: script) }

    /// Returns whether a condition is true in the database.
    package func has(_ condition: String) -> Bool {
        let check = """
            DO $$ BEGIN
                IF (\(condition)) IS NOT TRUE THEN RAISE EXCEPTION 'The condition is false.'; END IF;
            END $$
            """
        return (try? execute(check)) != nil
    }

    /// Returns the rows of a query with one column, a text.
    package func texts(_ query: String) throws -> [String] {
        // A script returns no rows. The message of an error contains them.
        let script = """
            DO $$ BEGIN
                RAISE EXCEPTION '%', (SELECT coalesce(json_agg(line), '[]') FROM (\(query)) AS lines (line));
            END $$
            """
        do {
            try execute(script)
        } catch PostgresError.refused(state: "P0001", let message) {
            return try JSONDecoder().decode([String].self, from: Data(message.utf8))
        }
        throw ConditionNotMet(description: "The query ended without the error that contains its rows.")
    }
}
