import Foundation
import ScrollbackPostgres
import Synchronization
import TestSupport

/// Empty stores on the server of `scripts/test-postgres.sh`, each in a schema of its own.
///
/// Tests that use it have the trait `needs(.postgres)`. The schemas are deleted with this object.
final class PostgresDatabase: Sendable {
    private let url: String
    private let schemas = Mutex<[String]>([])
    private let roles = Mutex<[String]>([])

    init() throws {
        url = try String(contentsOfFile: Requirement.postgres.path(), encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    deinit {
        let statements =
            schemas.withLock { $0.map { "DROP SCHEMA \($0) CASCADE;" } }
            + roles.withLock { $0.map { "DROP ROLE \($0);" } }
        try? connect(PostgresURL(url)).execute(script: statements.joined())
    }

    /// Creates a schema and returns the URL of the database that selects it.
    func makeSchema() throws -> PostgresURL {
        let name = "test_" + UUID().uuidString.lowercased().replacing("-", with: "")
        schemas.withLock { $0.append(name) }
        try connect(PostgresURL(url)).execute(script: "CREATE SCHEMA \(name)")
        return try PostgresURL("\(url)&options=-csearch_path%3D\(name)&application_name=\(name)")
    }

    /// Creates a role that may not create tables, and returns the URL of the database with this role.
    func makeRestrictedRole() throws -> PostgresURL {
        let role = "test_" + UUID().uuidString.lowercased().replacing("-", with: "")
        roles.withLock { $0.append(role) }
        try connect(PostgresURL(url)).execute(script: "CREATE ROLE \(role) LOGIN")
        let restricted = url.replacing("postgres://scrollback@", with: "postgres://\(role)@")
        return try PostgresURL(restricted + "&options=-csearch_path%3Dpg_catalog")
    }

    /// Runs statements in a schema.
    func execute(_ script: String, on url: PostgresURL) throws {
        try connect(url).execute(script: script)
    }

    /// Ends all sessions of the stores in a schema, and waits until they ended.
    func endSessions(of url: PostgresURL) throws {
        try execute(
            """
            SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
            WHERE application_name = current_setting('application_name') AND pid <> pg_backend_pid()
            """, on: url)
    }

    /// Opens a store in a new schema, with time limits that a busy machine does not reach.
    func makeStore() throws -> PostgresStore { try PostgresStore(makeSchema(), options: Self.options) }

    static var options: PostgresStore.Options {
        var options = PostgresStore.Options()
        options.timeout = .seconds(300)
        options.idleTransactionTimeout = .seconds(300)
        return options
    }

    private func connect(_ url: PostgresURL) throws -> PostgresConnection {
        try PostgresConnection(url, timeout: .seconds(300), idleTransactionTimeout: .seconds(300))
    }
}
