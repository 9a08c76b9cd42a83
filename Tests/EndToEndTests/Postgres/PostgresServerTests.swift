import Foundation
import ScrollbackModel
import ScrollbackPostgres
import TestSupport
import Testing

/// Servers whose messages are in a PostgreSQL database.
@Suite(.needs(.postgres)) struct PostgresServerTests {
    let database: PostgresDatabase
    let url: PostgresURL

    init() throws {
        database = try PostgresDatabase()
        url = try database.makeSchema()
    }

    private func start(_ settings: [String] = []) async throws -> RunningServer {
        try await RunningServer.start(RunningServer.withoutLimits + ["--store", url.text] + settings)
    }

    /// Runs `serve` until it ends.
    private func serve(
        _ folder: URL, _ arguments: [String], environment: String = ""
    ) async throws -> (code: Int32, errors: String) {
        let process = try RunningServer.run(
            ["serve", "--port", "0", "--data", folder.path] + arguments, shell: "true \(environment)", name: "serve",
            folder: folder.deletingLastPathComponent())
        return (try await process.waitForEnd(), process.errorText)
    }

    private func makeGroup(_ server: RunningServer) async throws {
        let answer = try await server.admin().call(
            "PUT", "/v1/conversations/group:crew", #"{"members":["alice","bob"]}"#)
        try #require(answer.status == 201)
    }

    private func texts(_ server: RunningServer) async throws -> [String] {
        let page = try await server.api("bob").call("GET", "/v1/conversations/group:crew/messages")
        return page.json.objects("messages").compactMap { ($0["content"] as? [String: Any])?["text"] as? String }
    }

    @Test func `Messages, search and metrics are there after a restart`() async throws {
        let server = try await start()
        try await makeGroup(server)
        #expect(try await server.api("alice").send("The albatross 🐦 عَلي", to: "group:crew").status == 201)
        #expect(try await server.terminate() == 0)
        try await server.start()
        #expect(try await texts(server) == ["The albatross 🐦 عَلي"])
        try await eventually("the message is found") {
            let found = try await server.api("bob").call("GET", "/v1/search?text=albatross")
            return found.json.objects("hits").count == 1 ? true : nil
        }
        #expect(try await server.metric("scrollback_database_bytes") > 0)
        #expect(try await server.metric("scrollback_disk_free_bytes") > 0)
        #expect(try await server.metric("scrollback_failed_commits_total") == 0)
    }

    @Test func `A second server on the same database is refused with the name of the option`() async throws {
        let first = try await start()
        let folder = try TemporaryFolder()
        let second = try await serve(
            folder.url.appending(component: "data"), ["--store", url.text],
            environment: "; export SCROLLBACK_STORE_LOCK_SECONDS=0")
        #expect(second.code == 1)
        #expect(second.errors.contains("another server uses (from this machine, since 20"), "\(second.errors)")
        #expect(second.errors.contains("store"))
        // The first one is not disturbed.
        try await makeGroup(first)
        #expect(try await first.api("alice").send("hello", to: "group:crew").status == 201)
    }

    @Test func `A server whose database was taken over stops`() async throws {
        let first = try await start()
        try await makeGroup(first)
        // As if PostgreSQL had closed the connection of the lock just before another server started.
        try database.execute("UPDATE storeState SET server = gen_random_uuid()", on: url)
        let refused = try await first.api("alice").send("late", to: "group:crew")
        #expect(refused.status == 503 && refused.json.all["temporary"] as? Bool == true, "\(refused)")
        #expect(try await first.waitForEnd() != 0)
        #expect(first.log.contains("Another server uses the database now"), "\(first.log)")
        let second = try await start()
        #expect(try await texts(second).isEmpty)
    }

    @Test func `A server takes its lock again after PostgreSQL closed its connections`() async throws {
        let server = try await start()
        try await makeGroup(server)
        try database.endSessions(of: url)
        #expect(try await server.api("alice").send("still here", to: "group:crew").status == 201)
        #expect(try await eventually { database.isLocked(url) })
        #expect(try await texts(server) == ["still here"])
        #expect(try await server.terminate() == 0)
    }

    @Test func `A data directory with messages is refused with --store, and one without them is refused without it`()
        async throws
    {
        let embedded = try await RunningServer.start()
        #expect(try await embedded.terminate() == 0)
        let other = try await serve(embedded.data, ["--store", url.text])
        #expect(other.code == 1)
        #expect(other.errors.contains("which has a store with messages"), "\(other.errors)")

        let server = try await start()
        #expect(try await server.terminate() == 0)
        let without = try await serve(server.data, [])
        #expect(without.code == 1)
        #expect(without.errors.contains("Start the server with its URL"), "\(without.errors)")
        #expect(!FileManager.default.fileExists(atPath: server.data.appending(component: "scrollback.sqlite").path))
        let backup = server.folder.appending(component: "backup").path
        for command in [["verify", server.data.path], ["backup", backup, "--data", server.data.path]] {
            let result = try await RunningServer.command(command)
            #expect(result.code == 1)
            #expect(result.errors.contains("PostgreSQL database"), "\(result.errors)")
        }
    }

    @Test func `An unusable database is refused with one line and exit status 1`() async throws {
        func expectRefusal(_ url: String, _ error: String) async throws {
            let folder = try TemporaryFolder()
            let refused = try await serve(folder.url.appending(component: "data"), ["--store", url])
            #expect(refused.code == 1)
            #expect(refused.errors.contains(error), "\(refused.errors)")
            #expect(refused.errors.count { $0 == "\n" } == 1, "\(refused.errors)")
        }
        func other(_ database: String) -> String { url.text.replacing("/scrollback?", with: "/\(database)?") }
        try await expectRefusal(other("missing"), "database \"missing\" does not exist")
        let latin = "latin_\(UUID().uuidString.lowercased().replacing("-", with: ""))"
        try url.execute("CREATE DATABASE \(latin) TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
        defer { try? url.execute("DROP DATABASE \(latin)") }
        try await expectRefusal(other(latin), "store names a database with the encoding LATIN1")
        try await expectRefusal(try database.makeRestrictedRole().text, "permission to create tables")
        #expect(try await start().terminate() == 0)
        try url.execute("INSERT INTO migration (number) VALUES (999); UPDATE storeState SET oldestSchema = 999")
        try await expectRefusal(url.text, "store names a database with schema 999, but this version")
    }

    @Test func `An asynchronous standby is refused, unless it is allowed`() async throws {
        let pair = try await PostgresPair.start()
        try await pair.setAsynchronous()
        let settings = try ["--store", pair.url.text]
        let folder = try TemporaryFolder()
        let standby = try pair.url.text.replacing("port=5433,5434&target_session_attrs=read-write", with: "port=5434")
        let readOnly = try await serve(folder.url.appending(component: "data"), ["--store", standby])
        #expect(readOnly.code == 1)
        #expect(readOnly.errors.contains("store names a standby, which is read-only"), "\(readOnly.errors)")
        let refused = try await serve(folder.url.appending(component: "data"), settings)
        #expect(refused.code == 1)
        #expect(refused.errors.contains("store names a server with a standby that is not synchronous"))
        #expect(refused.errors.contains("--allow-asynchronous-standbys"), "\(refused.errors)")
        let server = try await RunningServer.start(
            RunningServer.withoutLimits + settings + ["--allow-asynchronous-standbys"])
        #expect(try await server.terminate() == 0)
    }

    @Test func `Keys of storage encryption are refused, and the error does not contain the password of the URL`()
        async throws
    {
        let folder = try TemporaryFolder()
        let keys = folder.url.appending(component: "keys")
        try Data(repeating: 7, count: 32).base64EncodedString().write(to: keys, atomically: true, encoding: .utf8)
        chmod(keys.path, 0o600)
        let data = folder.url.appending(component: "data")
        let encrypted = try await serve(data, ["--store", url.text, "--store-keys", keys.path])
        #expect(encrypted.code == 1)
        #expect(encrypted.errors.contains("store-keys"), "\(encrypted.errors)")
        let unreachable = try await serve(data, ["--store", "postgres://alice:se%63ret@127.0.0.1:9/chat"])
        #expect(unreachable.code == 1)
        #expect(unreachable.errors.contains("can't be reached"), "\(unreachable.errors)")
        #expect(!unreachable.errors.contains("secret") && !unreachable.errors.contains("se%63ret"))
    }
}
