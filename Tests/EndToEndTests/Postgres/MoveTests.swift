import Foundation
import Logging
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackPostgres
import ScrollbackSQLite
import ScrollbackServer
import TestSupport
import Testing

/// `scrollback move`, from a data directory to a PostgreSQL database.
@Suite(.needs(.postgres)) struct MoveTests {
    let database: PostgresDatabase
    let url: PostgresURL
    let folder: TemporaryFolder
    let data: URL

    init() throws {
        database = try PostgresDatabase()
        url = try database.makeSchema()
        folder = try TemporaryFolder()
        data = folder.url.appending(component: "data")
    }

    private func start(_ arguments: [String] = []) async throws -> RunningServer {
        try await RunningServer.start(RunningServer.withoutLimits + arguments, folder: folder)
    }

    private func move(
        _ arguments: [String] = []
    ) async throws -> (code: Int32, output: String, errors: String) {
        try await RunningServer.command(["move", "--data", data.path, "--store", url.text] + arguments, within: 600)
    }

    private func verify(
        _ arguments: [String] = []
    ) async throws -> (code: Int32, output: String, errors: String) {
        try await RunningServer.command(["verify", data.path, "--store", url.text] + arguments, within: 600)
    }

    /// Makes a group with messages, and stops the server.
    private func makeMessages(_ count: Int) async throws {
        let server = try await start()
        let made = try await server.admin().call(
            "PUT", "/v1/conversations/group:crew", #"{"members":["alice","bob"]}"#)
        try #require(made.status == 201)
        let alice = try await server.api("alice")
        for number in 0..<count { try #require(try await alice.send("\(number)", to: "group:crew").status == 201) }
        try #require(try await server.terminate() == 0)
    }

    @Test(arguments: WireScript.areas.keys.sorted())
    func `Everything that users did is there after a move`(area: String) async throws {
        let scene = try await WireScene(folder: folder)
        try await scene.run(WireScript.scene)
        try await scene.run(try #require(WireScript.areas[area]))
        let before = try await views(of: scene.server)
        #expect(try await scene.server.terminate() == 0)
        let moved = try await move(["--json"])
        try #require(moved.code == 0, "\(moved.errors)")
        #expect(try #require(Members(Array(moved.output.utf8)).int("rows")) > 10, "\(moved.output)")
        let names = try FileManager.default.contentsOfDirectory(atPath: data.path)
        #expect(names.contains("scrollback.sqlite.moved") && !names.contains { $0.hasPrefix("scrollback.sqlite-") })
        let server = try await start(["--store", url.text])
        for (old, new) in zip(before, try await views(of: server)) { #expect(old == new) }
        let verified = try await verify()
        #expect(verified.code == 0 && verified.output == "no violations\n", "\(verified)")
    }

    /// What users and administrators see.
    private func views(of server: RunningServer) async throws -> [String] {
        let admin = try await server.admin()
        var views: [String] = []
        for user in ["alice", "bob", "carol", "dave"] as [UserID] {
            let api = try await server.api(user)
            let list = try await api.call("GET", "/v1/conversations?limit=100")
            views += [list.text, try await api.call("GET", "/v1/me").text]
            for conversation in list.json.objects("conversations").compactMap({ $0["id"] as? String }) {
                views.append(try await api.call("GET", "/v1/conversations/\(conversation)/messages?limit=100").text)
            }
            views.append(try await admin.call("GET", "/v1/users/\(user)/scheduled").text)
            views.append(try await admin.call("GET", "/v1/users/\(user)/export").text)
        }
        for path in ["settings", "bans", "reports", "audit", "admin/users", "admin/conversations", "admin/hooks"] {
            views.append(try await admin.call("GET", "/v1/\(path)").text)
        }
        // The tokens of links and remaining times change with each answer.
        return views.map { $0.replacing(#/token=[^"]+|"retryAfter":[0-9.]+/#, with: "") }
    }

    @Test func `A move that is killed three times continues, and devices and numbers go on`() async throws {
        try await makeMessages(20)
        let port = try RunningServer.freePort()
        let first = try await start(["--port", "\(port)"])
        let bob = try await Device.open(first, "bob", name: "phone")
        try await eventually("bob has all messages") { () -> Bool? in
            try await bob.conversation(.group("crew")).history(limit: 50).messages.count == 20 ? true : nil
        }
        let lines = (0..<4_000).map {
            #"{"id":"\#($0)","channel":"c\#($0 % 20)","sender":"u\#($0 % 7)","time":"2024-05-01T12:00:00Z","text":"x"}"#
        }
        let log = folder.url.appending(component: "log.jsonl")
        try Data(lines.joined(separator: "\n").utf8).write(to: log)
        #expect(try await first.importLog(ChatLog(file: log), ["--kind", "group"]).imported == 4_000)
        #expect(try await first.terminate() == 0)
        let gate = try CopyGate(in: database, url)
        for attempt in 0..<3 {
            try gate.close(at: 5 * (attempt + 1))
            let process = try RunningServer.run(
                ["move", "--data", data.path, "--store", url.text], name: "move-\(attempt)", folder: folder.url)
            try await eventually("the copy waits", within: 300) { () -> Bool? in
                try #require(process.end == nil, "The move ended too soon: \(process.errorText)")
                return gate.isReached ? true : nil
            }
            process.kill()
            try database.endSessions(of: url)
            let refused = try await RunningServer.command([
                "serve", "--port", "0", "--data", folder.url.appending(component: "other").path, "--store", url.text,
            ])
            #expect(refused.code == 1 && refused.errors.contains("has not copied everything"), "\(refused.errors)")
        }
        try gate.open()
        let moved = try await move()
        try #require(moved.code == 0, "\(moved.errors)")
        #expect(moved.errors.contains("copying rows") && moved.errors.contains("comparing rows"))
        let second = try await start(["--port", "\(port)", "--store", url.text])
        let sent = try await second.api("alice").send("after the move", to: "group:crew")
        #expect(sent.json.int("seq") == 21)
        try await eventually("bob has the new message") { () -> Bool? in
            let messages = try await bob.conversation(.group("crew")).history(limit: 50).messages
            return messages.count == 21 ? true : nil
        }
        await bob.close()
    }

    /// Starts a move that is cancelled when more than a number of rows are copied.
    private static func interrupted(_ move: StoreMove, after rows: Int64) -> Task<StoreMove.Summary, any Error> {
        Task {
            try await move.run(logger: Logger(label: "test")) { step, done, _ in
                if step == .copyingRows, done > rows { withUnsafeCurrentTask { $0?.cancel() } }
            }
        }
    }

    @Test func `A cancelled move continues after the last copied row`() async throws {
        try await makeMessages(1_200)
        let move = StoreMove(of: data, to: url.text)
        await #expect(throws: CancellationError.self) { try await Self.interrupted(move, after: 600).value }
        var first: Int64?
        let summary = try await move.run(logger: Logger(label: "test")) { step, done, _ in
            if step == .copyingRows { first = first ?? done }
        }
        #expect(try #require(first) > 600 && summary.rows > 1_200)
    }

    @Test func `A directory that changed since the first attempt is refused until the move restarts`() async throws {
        try await makeMessages(600)
        // The table of another program.
        try database.execute("CREATE TABLE other (number INT PRIMARY KEY); INSERT INTO other VALUES (1)", on: url)
        let move = StoreMove(of: data, to: url.text)
        await #expect(throws: CancellationError.self) { try await Self.interrupted(move, after: 500).value }
        let server = try await start()
        #expect(try await server.api("bob").send("in between", to: "group:crew").status == 201)
        #expect(try await server.terminate() == 0)
        let refused = try await self.move()
        #expect(refused.code == 1 && refused.errors.contains("Pass --restart"), "\(refused.errors)")
        let moved = try await self.move(["--restart"])
        #expect(moved.code == 0, "\(moved.errors)")
        #expect(database.has("(SELECT count(*) FROM other) = 1", url))
        let again = try await start(["--store", url.text])
        let page = try await again.api("alice").call("GET", "/v1/conversations/group:crew/messages?limit=1")
        #expect(page.json.objects("messages").first?["seq"] as? Int == 601)
    }

    @Test func `A row that differs from its copy is reported, and the data directory stays in use`() async throws {
        try await makeMessages(600)
        let move = StoreMove(of: data, to: url.text)
        await #expect(throws: CancellationError.self) { try await Self.interrupted(move, after: 500).value }
        try database.execute("UPDATE message SET flags = flags + 1 WHERE seq = 7", on: url)
        let refused = try await self.move()
        #expect(refused.code == 1 && refused.errors.contains("A row of the table message differs"), "\(refused.errors)")
        let server = try await start()
        #expect(try await server.api("bob").send("still here", to: "group:crew").status == 201)
    }

    @Test func `A move that was killed in its last steps is finished by another one`() async throws {
        try await makeMessages(3)
        try #require(try await move().code == 0)
        let (file, old) = (
            data.appending(component: "scrollback.sqlite"), data.appending(component: "scrollback.sqlite.moved")
        )
        // Killed before the rename.
        try FileManager.default.moveItem(at: old, to: file)
        for arguments in [[], ["--store", url.text]] {
            let refused = try await RunningServer.command(["serve", "--port", "0", "--data", data.path] + arguments)
            #expect(refused.code == 1 && refused.errors.contains("Run `scrollback move` again"), "\(refused.errors)")
        }
        let renamed = try await move()
        #expect(renamed.code == 0 && !renamed.errors.contains("copying rows"), "\(renamed.errors)")
        // Killed before the database was complete.
        try FileManager.default.moveItem(at: old, to: file)
        try database.execute("UPDATE storeState SET isIncomplete = true", on: url)
        let finished = try await move()
        #expect(finished.code == 0 && finished.errors.contains("comparing rows"), "\(finished.errors)")
        #expect(FileManager.default.fileExists(atPath: old.path))
        #expect(try await start(["--store", url.text]).terminate() == 0)
    }

    @Test func `The database is checked like a file while its server runs`() async throws {
        let server = try await start(["--store", url.text])
        let made = try await server.admin().call(
            "PUT", "/v1/conversations/group:crew", #"{"members":["alice","bob"]}"#)
        try #require(made.status == 201)
        for text in ["one", "two", "three"] {
            try #require(try await server.api("alice").send(text, to: "group:crew").status == 201)
        }
        let intact = try await verify(["--json"])
        #expect(intact.code == 0 && Members(Array(intact.output.utf8)).int("violations") == 0, "\(intact)")
        try database.execute("UPDATE message SET countedIndex = 7 WHERE seq = 2", on: url)
        try database.execute("DELETE FROM span WHERE userID = 'bob'", on: url)
        let found = try await verify()
        #expect(found.code == 1 && found.output.contains("group:crew"), "\(found)")
        let other = try database.makeSchema()
        let empty = try await RunningServer.command(["verify", data.path, "--store", other.text])
        #expect(empty.code == 1 && empty.errors.contains("a database without a store"), "\(empty.errors)")
        let both = try await verify(["--against", data.path])
        #expect(both.code == 1 && both.errors.contains("against"), "\(both.errors)")
    }

    @Test func `Numbers of removed rows are not used again`() async throws {
        /// Makes an entry in the audit log.
        func act(on server: RunningServer) async throws {
            try #require(try await server.admin().call("PUT", "/v1/settings", #"{"notices":true}"#).status == 200)
        }
        let server = try await start()
        try await act(on: server)
        #expect(try await server.terminate() == 0)
        let store = try SQLiteStore(directory: data)
        #expect(try store.write { writer, _ in try writer.dropAudit(before: .distantFuture, limit: 100) } == 1)
        try store.close()
        try #require(try await move().code == 0)
        try await act(on: start(["--store", url.text]))
        #expect(database.has("(SELECT min(number) FROM audit) = 2", url))
    }

    @Test func `Unsuitable directories and databases are refused, and nothing changes`() async throws {
        try await makeMessages(1)
        let server = try await start()
        let running = try await move()
        #expect(running.code == 1 && running.errors.contains("conflict"), "\(running.errors)")
        #expect(try await server.terminate() == 0)
        for (target, expected) in [
            ("postgres://nobody@127.0.0.1:1/none", "store names a database that can't be reached"),
            ("mysql://localhost/x", "store must be a URL"), ("", "store must be a URL"),
        ] {
            let refused = try await RunningServer.command(["move", "--data", data.path, "--store", target])
            #expect(refused.code == 1 && refused.errors.contains("error: \(expected)"), "\(refused.errors)")
        }
        let used = try database.makeSchema()
        let other = try await RunningServer.start(["--store", used.text])
        #expect(try await other.terminate() == 0)
        let full = try await RunningServer.command(["move", "--data", data.path, "--store", used.text])
        #expect(full.code == 1 && full.errors.contains("has messages already"), "\(full.errors)")
        let nothing = try await RunningServer.command([
            "move", "--data", folder.url.appending(component: "none").path, "--store", url.text,
        ])
        #expect(nothing.code == 1 && nothing.errors.contains("has no store"), "\(nothing.errors)")
        #expect(try await start().terminate() == 0)
        #expect(try await move().code == 0)
        let twice = try await move()
        #expect(twice.code == 1 && twice.errors.contains("was moved already"), "\(twice.errors)")
    }

    @Test func `An encrypted directory is refused`() async throws {
        let key = folder.url.appending(component: "store-keys")
        try Data("\(Data(repeating: 7, count: 32).base64EncodedString())\n".utf8).write(to: key)
        let server = try await start(["--store-keys", key.path])
        #expect(try await server.terminate() == 0)
        let refused = try await move()
        #expect(refused.code == 1 && refused.errors.contains("is encrypted"), "\(refused.errors)")
    }
}

/// Makes a copy wait before the messages of a conversation.
private struct CopyGate {
    private let database: PostgresDatabase
    private let url: PostgresURL
    /// Has the lock for which the copy waits. Its name differs from that of the sessions that a test ends.
    private let session: PostgresConnection

    init(in database: PostgresDatabase, _ url: PostgresURL) throws {
        self.database = database
        self.url = url
        let other = try PostgresURL(url.text.components(separatedBy: "&application_name").first ?? "")
        session = try PostgresConnection(other, timeout: .seconds(300), idleTransactionTimeout: .seconds(300))
        try session.execute(script: "SELECT pg_advisory_lock(hashtextextended(current_schema(), 2))")
        // Creates the tables.
        try PostgresStore(url, options: PostgresDatabase.options).close()
        try database.execute(
            """
            CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                PERFORM pg_advisory_xact_lock(hashtextextended(current_schema(), 2));
                RETURN NEW;
            END $$
            """, on: url)
    }

    /// Makes the copy wait before the messages of a conversation with a number, and not before earlier ones.
    func close(at conversation: Int) throws {
        try open()
        try database.execute(
            """
            CREATE TRIGGER gate BEFORE INSERT ON message FOR EACH ROW WHEN (NEW.conversation >= \(conversation))
            EXECUTE FUNCTION wait_at_gate()
            """, on: url)
    }

    func open() throws { try database.execute("DROP TRIGGER IF EXISTS gate ON message", on: url) }

    /// Whether the copy waits for the gate, and not for the lock of a server.
    var isReached: Bool {
        database.has(
            """
            EXISTS (
                SELECT FROM pg_stat_activity
                WHERE application_name = current_setting('application_name') AND wait_event_type = 'Lock'
                    AND query LIKE 'INSERT INTO message %'
            )
            """, url)
    }
}
