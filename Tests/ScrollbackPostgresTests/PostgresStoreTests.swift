import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackPostgres
import StoreConformance
import TestSupport
import Testing

@Suite(.needs(.postgres)) struct PostgresStoreTests {
    let database: PostgresDatabase

    init() throws {
        database = try PostgresDatabase()
    }

    private func open(_ url: PostgresURL) throws -> PostgresStore {
        try PostgresStore(url, options: PostgresDatabase.options)
    }

    /// Stores a user and returns the number of the commit.
    @discardableResult
    private func put(_ user: UserID, in store: PostgresStore) throws -> Int64 {
        try store.write { writer, commit in
            try writer.put(UserRow(profile: UserProfile(id: user)))
            return commit
        }
    }

    private func contains(_ user: UserID, _ store: PostgresStore) throws -> Bool {
        try store.read { try $0.user(user) != nil }
    }

    // MARK: Opening

    @Test func `A store that is opened again has the same rows, generation and commit number`() throws {
        let url = try database.makeSchema()
        let first = try open(url)
        try put("alice", in: first)
        first.close()
        let second = try open(url)
        #expect(second.generation == first.generation)
        #expect(try second.lastCommit == 1)
        #expect(try contains("alice", second))
        #expect(try put("bob", in: second) == 2)
    }

    @Test func `A closed store refuses reads and writes`() throws {
        let store = try database.makeStore()
        store.close()
        #expect { try contains("alice", store) } throws: { ($0 as? ChatError)?.code == .shuttingDown }
        #expect { try put("alice", in: store) } throws: { ($0 as? ChatError)?.code == .shuttingDown }
    }

    @Test func `Tables of a newer version of the server are refused`() throws {
        let url = try database.makeSchema()
        try open(url).close()
        try database.execute("INSERT INTO migration (number) VALUES (999)", on: url)
        #expect {
            try open(url)
        } throws: { error in
            guard let error = error as? ChatError, error.code == .invalidParameter else { return false }
            return error.parameter == "store" && error.message.contains("schema 999")
        }
    }

    @Test func `A user who may not create tables is one clear error`() throws {
        let url = try database.makeRestrictedRole()
        #expect {
            try open(url)
        } throws: { error in
            guard let error = error as? ChatError, error.parameter == "store" else { return false }
            return error.message.contains("permission denied")
        }
    }

    @Test func `Stores that open at the same time create the tables once`() async throws {
        let url = try database.makeSchema()
        let generations = try await withThrowingTaskGroup(of: UInt64.self) { group in
            for _ in 0..<4 { group.addTask { try PostgresStore(url, options: PostgresDatabase.options).generation } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(generations.count == 1)
    }

    // MARK: Several stores

    @Test func `Transactions of two stores on one database have consecutive numbers`() throws {
        let url = try database.makeSchema()
        let (first, second) = (try open(url), try open(url))
        for number: Int64 in stride(from: 1, to: 9, by: 2) {
            #expect(try put("alice", in: first) == number)
            #expect(try put("bob", in: second) == number + 1)
            #expect(try first.lastCommit == number + 1)
        }
    }

    @Test func `Concurrent transactions of two stores don't lose changes`() async throws {
        let url = try database.makeSchema()
        let stores = [try open(url), try open(url)]
        let id = ConversationID.group("swift")
        try stores[0].write { store, _ in
            var row = ConversationRow(id: id, salt: 1, createdAt: Date(timeIntervalSince1970: 0))
            try store.put(&row)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for store in stores {
                group.addTask {
                    for _ in 0..<50 {
                        try store.write { store, _ in
                            guard var row = try store.conversation(id) else { return }
                            row.rev += 1
                            try store.put(&row)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try stores[0].read { try $0.conversation(id)?.rev } == 100)
        #expect(try stores[1].lastCommit == 101)
    }

    // MARK: Lost connections

    @Test func `A store reconnects after PostgreSQL closed its connections`() throws {
        let url = try database.makeSchema()
        let store = try open(url)
        try put("alice", in: store)
        #expect(try contains("alice", store))
        try database.endSessions(of: url)
        #expect(try contains("alice", store))
        #expect(try put("bob", in: store) == 2)
    }

    @Test func `A transaction whose connection is lost fails as overloaded and changes nothing`() throws {
        let url = try database.makeSchema()
        let store = try open(url)
        #expect {
            try store.write { writer, _ in
                try writer.put(UserRow(profile: UserProfile(id: "alice")))
                try database.endSessions(of: url)
                try writer.put(UserRow(profile: UserProfile(id: "bob")))
            }
        } throws: {
            ($0 as? ChatError)?.code == .overloaded
        }
        #expect(try !contains("alice", store))
        #expect(try put("carol", in: store) == 1)
    }

    @Test func `A commit whose answer is lost fails as a timeout that may have succeeded`() throws {
        let url = try database.makeSchema()
        let store = try open(url)
        // The deferred trigger runs during the commit.
        try database.execute(
            """
            CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';
            CREATE CONSTRAINT TRIGGER end_session AFTER UPDATE ON storeState DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION end_session()
            """, on: url)
        #expect {
            try put("alice", in: store)
        } throws: { error in
            guard let error = error as? ChatError, case .commitUnconfirmed = error.cause as? PostgresError else {
                return false
            }
            return error.code == .timeout
        }
        try database.execute("DROP TRIGGER end_session ON storeState", on: url)
        #expect(try put("bob", in: store) == 1)
    }

    @Test func `A transaction that ignores the error of a statement does not commit`() throws {
        let store = try database.makeStore()
        #expect(throws: ChatError.self) {
            try store.write { writer, _ in
                try writer.put(UserRow(profile: UserProfile(id: "alice")))
                var row = ConversationRow(id: .group("swift"), salt: 1, createdAt: Date(timeIntervalSince1970: 0))
                // The table permits 0 to 3.
                row.blocks = DirectBlocks(rawValue: 9)
                try? writer.put(&row)
            }
        }
        #expect(try !contains("alice", store))
        #expect(try store.lastCommit == 0)
    }
}

@Suite struct PostgresURLTests {
    @Test(arguments: ["mysql://host/database", "", "host=a dbname=b", "postgres://[::1/a", "postgres://a?x=1"])
    func `An invalid URL is refused with the name of the option`(_ text: String) {
        #expect { try PostgresURL(text) } throws: { error in
            (error as? ChatError)?.code == .invalidParameter && (error as? ChatError)?.parameter == "store"
        }
    }

    @Test func `The error of an invalid URL does not contain the password`() {
        #expect { try PostgresURL("postgres://alice:se%cret@host/database") } throws: { error in
            !((error as? ChatError)?.message.contains("cret") ?? true)
        }
    }

    @Test func `A server that does not answer is one clear error`() throws {
        // The system accepts connections for a listening socket, and no program reads from them.
        let folder = try TemporaryFolder()
        let listener = try SilentListener(at: folder.url.appending(component: ".s.PGSQL.5432"))
        defer { listener.close() }
        var options = PostgresStore.Options()
        options.timeout = .milliseconds(20)
        let url = try PostgresURL("postgres://alice@/database?host=\(folder.url.path)")
        let error = #expect(throws: ChatError.self) { _ = try PostgresStore(url, options: options) }
        #expect(error?.parameter == "store")
        #expect(error?.message.contains("does not answer") == true)
    }

    @Test func `A server that can't be reached is one clear error`() throws {
        let folder = try TemporaryFolder()
        let url = try PostgresURL("postgres://alice@/database?host=\(folder.url.path)")
        #expect { try PostgresStore(url) } throws: { error in
            guard let error = error as? ChatError, error.parameter == "store" else { return false }
            return error.message.contains("can't be reached")
        }
    }
}

/// A Unix socket that accepts connections and never answers.
private struct SilentListener {
    private let descriptor: CInt

    init(at file: URL) throws {
        descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = Array(file.path.utf8)
        try #require(path.count < MemoryLayout.size(ofValue: address.sun_path))
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(result == 0 && listen(descriptor, 8) == 0)
    }

    func close() { _ = Foundation.close(descriptor) }
}
