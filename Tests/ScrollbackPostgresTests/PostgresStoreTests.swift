import Dispatch
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackPostgres
import StoreConformance
import Synchronization
import TestSupport
import Testing

@Suite(.needs(.postgres)) struct PostgresStoreTests {
    let database: PostgresDatabase

    init() throws {
        database = try PostgresDatabase()
    }

    private func open(
        _ url: PostgresURL, _ options: PostgresStore.Options = PostgresDatabase.options
    ) throws -> PostgresStore {
        try PostgresStore(url, options: options)
    }

    private func openShared(_ url: PostgresURL) throws -> PostgresStore {
        try open(url, PostgresDatabase.sharedOptions)
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
        try database.execute(
            "INSERT INTO migration (number) VALUES (999); UPDATE storeState SET oldestSchema = 999", on: url)
        #expect {
            try open(url)
        } throws: { error in
            guard let error = error as? ChatError, error.code == .invalidParameter else { return false }
            return error.parameter == "store" && error.message.contains("schema 999")
        }
    }

    @Test func `Stores of two versions use one database if the newer tables allow it`() throws {
        typealias Migration = PostgresStore.Migration
        let url = try database.makeSchema()
        let running = try openShared(url)
        let known = PostgresStore.migrations
        let current = try #require(known.last?.number)
        let addition = Migration(
            number: current + 1, oldestUser: current, script: "ALTER TABLE person ADD COLUMN motto TEXT")
        let load = WriteLoad { [self] in try put("carol", in: running) }
        try load.waitForWrite()
        try PostgresStore.migrate(url.connect(), to: known + [addition], isAlone: false)
        try load.waitForWrite()
        try load.end()
        try put("alice", in: running)
        #expect(try contains("alice", openShared(url)))

        let replacement = Migration(number: current + 2, script: "ALTER TABLE person RENAME COLUMN motto TO creed")
        func migrate(isAlone: Bool) throws {
            try PostgresStore.migrate(url.connect(), to: known + [addition, replacement], isAlone: isAlone)
        }
        let refusal = #expect(throws: ChatError.self) { try migrate(isAlone: false) }
        #expect(refusal?.parameter == "store" && refusal?.message.contains("Stop all nodes") == true)
        try put("bob", in: running)
        // As if the running store had lost its lock with a failover.
        try migrate(isAlone: true)
        #expect { try put("dave", in: running) } throws: { ($0 as? ChatError)?.code == .shuttingDown }
        #expect { try running.checkLock() } throws: { ($0 as? ChatError)?.code == .conflict }
        let error = #expect(throws: ChatError.self) { try openShared(url) }
        #expect(error?.message.contains("schema \(current + 2), but this version") == true)
        // A later change that this schema could use does not undo that.
        let second = Migration(
            number: current + 3, oldestUser: current, script: "ALTER TABLE person ADD COLUMN verse TEXT")
        try PostgresStore.migrate(
            url.connect(), to: known + [addition, replacement, second], isAlone: false)
        #expect(throws: ChatError.self) { try openShared(url) }
    }

    @Test func `A migration does not wait for a long transaction while other nodes work`() throws {
        let url = try database.makeSchema()
        let store = try openShared(url)
        try put("alice", in: store)
        let current = try #require(PostgresStore.migrations.last?.number)
        let addition = PostgresStore.Migration(
            number: current + 1, oldestUser: current, script: "ALTER TABLE person ADD COLUMN motto TEXT")
        try store.read { reader in
            // The transaction of this read has a lock on the table until it ends.
            _ = try reader.user("alice")
            let error = #expect(throws: ChatError.self) {
                try PostgresStore.migrate(
                    url.connect(), to: PostgresStore.migrations + [addition], isAlone: false)
            }
            #expect(error?.parameter == "store" && error?.message.contains("long transaction") == true)
        }
        #expect(try put("bob", in: store) == 2)
    }

    // MARK: Checks of the server

    @Test(arguments: [-600.0, 600]) func `A machine with a wrong clock is refused`(_ seconds: TimeInterval) throws {
        var options = PostgresDatabase.options
        options.now = { Date(timeIntervalSinceNow: seconds) }
        let url = try database.makeSchema()
        let error = #expect(throws: ChatError.self) { try open(url, options) }
        #expect(error?.parameter == "store")
        #expect(error?.message.contains(seconds < 0 ? "ahead of the clock" : "behind the clock") == true)
        // Nothing was created.
        #expect(database.has("to_regclass('storeState') IS NULL", url))
    }

    @Test(arguments: [-4.0, 4]) func `A small difference between the clocks is accepted`(_ seconds: TimeInterval) throws
    {
        var options = PostgresDatabase.options
        options.now = { Date(timeIntervalSinceNow: seconds) }
        #expect(try open(database.makeSchema(), options).lastCommit == 0)
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
            for _ in 0..<4 { group.addTask { try openShared(url).generation } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(generations.count == 1)
    }

    // MARK: Several stores

    @Test func `Transactions of two stores on one database have consecutive numbers`() throws {
        let url = try database.makeSchema()
        let (first, second) = (try openShared(url), try openShared(url))
        for number: Int64 in stride(from: 1, to: 9, by: 2) {
            #expect(try put("alice", in: first) == number)
            #expect(try put("bob", in: second) == number + 1)
            #expect(try first.lastCommit == number + 1)
        }
    }

    @Test func `A transaction waits until the one of another store has ended`() throws {
        let url = try database.makeSchema()
        let (first, second) = (try openShared(url), try openShared(url))
        let isDone = DispatchSemaphore(value: 0)
        let hasWaited = try first.write { _, _ in
            Thread.detachNewThread { [self] in
                _ = try? put("bob", in: second)
                isDone.signal()
            }
            while !database.hasWaitingTransaction(url) {
                if isDone.wait(timeout: .now()) == .success { return false }
            }
            return true
        }
        #expect(hasWaited)
    }

    /// Repeats what fails because PostgreSQL ended a transaction. With a short limit, this can happen at any time on a
    /// busy machine.
    private func retrying<Answer>(_ body: () throws -> Answer) throws -> Answer {
        for _ in 0..<20 {
            if let answer = try? body() { return answer }
        }
        return try body()
    }

    @Test(arguments: [true, false])
    func `A transaction that pauses for too long changes nothing, and other stores go on`(_ queries: Bool) throws {
        let url = try database.makeSchema()
        var options = PostgresDatabase.sharedOptions
        // How long the second store waits at most. PostgreSQL ends the transaction of the first one long before.
        options.timeout = .seconds(90)
        let second = try open(url, options)
        options.idleTransactionTimeout = .milliseconds(500)
        let first = try retrying { try open(url, options) }
        var number: Int64?
        func pause() -> (any Error)? {
            #expect(throws: (any Error).self) {
                try first.write { writer, _ in
                    try writer.put(UserRow(profile: UserProfile(id: "alice")))
                    // Changes are sent with the next query.
                    _ = try writer.user("carol")
                    // The pause lasts until the other transaction was committed.
                    number = try put("bob", in: second)
                    if queries { _ = try writer.user("dave") }
                }
            }
        }
        var error = pause()
        // PostgreSQL can have ended the transaction before its pause.
        for _ in 0..<20 where number == nil { error = pause() }
        #expect(number == 1)
        if queries {
            #expect((error as? ChatError)?.code == .overloaded)
        } else {
            let unconfirmed = try #require(error as? UnconfirmedCommit)
            #expect(try !retrying(unconfirmed.wasCommitted))
        }
        #expect(try contains("bob", second))
        #expect(try !contains("alice", second))
        #expect(try retrying { try put("carol", in: first) } == 2)
        #expect(try second.lastCommit == 2)
    }

    @Test func `Concurrent transactions of two stores don't lose changes`() async throws {
        let url = try database.makeSchema()
        let stores = [try openShared(url), try openShared(url)]
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
                // Changes are sent with the next query.
                _ = try writer.user("bob")
            }
        } throws: {
            ($0 as? ChatError)?.code == .overloaded
        }
        #expect(try !contains("alice", store))
        #expect(try put("carol", in: store) == 1)
    }

    /// Makes the commits of a schema run a statement, until the trigger is removed.
    private func runDuringCommits(_ statement: String, _ url: PostgresURL) throws {
        // A deferred trigger runs during the commit.
        try database.execute(
            """
            CREATE FUNCTION during_commit() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN \(statement); RETURN NULL; END';
            CREATE CONSTRAINT TRIGGER during_commit AFTER UPDATE ON storeState DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION during_commit()
            """, on: url)
    }

    @Test func `A commit whose answer is lost is unconfirmed, and the store knows later that it failed`() throws {
        let url = try database.makeSchema()
        let store = try open(url)
        try runDuringCommits("PERFORM pg_terminate_backend(pg_backend_pid())", url)
        let error = #expect(throws: UnconfirmedCommit.self) { try put("alice", in: store) }
        try database.execute("DROP TRIGGER during_commit ON storeState", on: url)
        #expect(try error?.wasCommitted() == false)
        #expect(try put("bob", in: store) == 1)
        #expect(try !contains("alice", store))
    }

    @Test func `A commit whose answer is lost is unconfirmed, and the store knows later that it succeeded`() throws {
        let url = try database.makeSchema()
        let proxy = try SocketProxy(to: database.socket)
        defer { proxy.close() }
        let store = try open(PostgresURL(url.text.replacing(database.socket.directory, with: proxy.directory)))
        let error = #expect(throws: UnconfirmedCommit.self) {
            try store.write { writer, _ in
                try writer.put(UserRow(profile: UserProfile(id: "alice")))
                proxy.loseNextAnswer()
            }
        }
        #expect(try error?.wasCommitted() == true)
        #expect(try contains("alice", store))
        #expect(try put("bob", in: store) == 2)
    }

    /// Opens a store whose answers a proxy can delay.
    private func open(
        _ url: PostgresURL, over proxy: SocketProxy, _ options: PostgresStore.Options
    ) throws -> PostgresStore {
        let text = url.text.replacing(database.socket.directory, with: proxy.directory)
        return try open(PostgresURL(text), options)
    }

    /// Runs work on another thread.
    ///
    /// - Returns: A function that waits for its end.
    private func start(_ work: @escaping @Sendable () -> Void) -> () -> Void {
        let isDone = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            work()
            isDone.signal()
        }
        return { isDone.wait() }
    }

    @Test func `A read that ends late does not bring an earlier generation back`() throws {
        let url = try database.makeSchema()
        let proxy = try SocketProxy(to: database.socket)
        defer { proxy.close() }
        let store = try open(url, over: proxy, PostgresDatabase.sharedOptions)
        let other = try openShared(url)
        _ = try store.lastCommit
        proxy.holdNextAnswer()
        let end = start { _ = try? store.lastCommit }
        proxy.waitForHeldAnswer()
        try other.renewGeneration(at: Date())
        _ = try store.lastCommit
        #expect(store.generation == other.generation)
        proxy.release()
        end()
        #expect(store.generation == other.generation)
    }

    @Test func `A shared store has the generation of a note without a question to the database`() throws {
        let url = try database.makeSchema()
        let (store, other) = (try openShared(url), try openShared(url))
        let old = store.generation
        try other.renewGeneration(at: Date())
        #expect(store.generation == old)
        store.adopt(other.generation, of: 1)
        #expect(store.generation == other.generation)
        // A note that arrives late.
        store.adopt(old, of: 0)
        #expect(store.generation == other.generation)
    }

    @Test func `The number for checkpoints covers a commit that reads can see before its answer arrives`() throws {
        let url = try database.makeSchema()
        let proxy = try SocketProxy(to: database.socket)
        defer { proxy.close() }
        let store = try open(url, over: proxy, PostgresDatabase.options)
        try put("alice", in: store)
        #expect(try store.coveringCommit == 1)
        let end = start {
            _ = try? store.write { writer, _ in
                try writer.put(UserRow(profile: UserProfile(id: "bob")))
                proxy.holdNextAnswer()
            }
        }
        proxy.waitForHeldAnswer()
        #expect(try contains("bob", store))
        #expect(try store.coveringCommit == 2)
        proxy.release()
        end()
        #expect(try store.coveringCommit == 2)
    }

    // MARK: Nodes

    private func commit(_ store: PostgresStore, after known: Int64, _ body: [UInt8] = [1]) throws -> CommitID {
        let id = CommitID.random()
        try store.write(after: known, as: id) { _, _ in body }
        return id
    }

    @Test func `Each transaction of a node leaves a note, and the next one gets the notes before it`() throws {
        let url = try database.makeSchema()
        let (first, second) = (try openShared(url), try openShared(url))
        #expect(first.isFirst && !second.isFirst)
        let ids = [try commit(first, after: 0, [7]), try commit(second, after: 1, [])]
        let expected = [CommitNote(number: 1, id: ids[0], body: [7]), CommitNote(number: 2, id: ids[1], body: [])]
        var earlier: [CommitNote] = []
        try first.write(after: 0, as: .random()) { _, turn in
            #expect(turn.commit == 3)
            #expect(abs(turn.time.timeIntervalSinceNow) < 3_600)
            earlier = Array(turn.earlier.notes.dropFirst())
            return []
        }
        #expect(earlier == expected)
        #expect(try second.notes(from: 0).notes.dropFirst().prefix(2) == expected[...])
        #expect(try second.notes(from: 9).notes.isEmpty)
    }

    @Test func `A page of notes ends after four megabytes, and the newest note is never deleted`() throws {
        let store = try openShared(try database.makeSchema())
        for number: Int64 in 0..<4 { _ = try commit(store, after: number, Array(repeating: 1, count: 2 << 20)) }
        let page = try store.notes(from: 1)
        #expect(page.notes.map(\.number) == [1, 2, 3])
        // The node knows the first one.
        #expect(page.notes.map(\.body.count) == [0, 2 << 20, 2 << 20])
        #expect(page.hasMore)
        #expect(try !store.notes(from: 3).hasMore)
        try store.dropNotes(olderThan: 3_600)
        #expect(try store.notes(from: 0).notes.first?.number == 0)
        try store.dropNotes(olderThan: -3_600)
        #expect(try store.notes(from: 0).notes.map(\.number) == [4])
    }

    @Test func `A note that is larger than a page is read, and the ones after it`() throws {
        let store = try openShared(try database.makeSchema())
        _ = try commit(store, after: 0, Array(repeating: 1, count: 5 << 20))
        _ = try commit(store, after: 1)
        let first = try store.notes(from: 0)
        #expect(first.notes.map(\.number) == [0, 1] && first.hasMore)
        let second = try store.notes(from: 1)
        #expect(second.notes.map(\.number) == [1, 2] && !second.hasMore)
    }

    @Test func `A number that another node used does not confirm a commit`() throws {
        let url = try database.makeSchema()
        let (first, second) = (try openShared(url), try openShared(url))
        try runDuringCommits("PERFORM pg_terminate_backend(pg_backend_pid())", url)
        let error = #expect(throws: UnconfirmedCommit.self) { try put("alice", in: first) }
        try database.execute("DROP TRIGGER during_commit ON storeState", on: url)
        #expect(try put("bob", in: second) == 1)
        #expect(try error?.wasCommitted() == false)
        #expect(try !contains("alice", first))
    }

    @Test func `Nodes use the keys that the first one stored`() throws {
        let url = try database.makeSchema()
        let (first, second) = (try openShared(url), try openShared(url))
        #expect(try first.secrets(orStore: [1, 2]) == [1, 2])
        #expect(try second.secrets(orStore: [3]) == [1, 2])
    }

    @Test func `Keys are replaced only if no other node has replaced them`() throws {
        let url = try database.makeSchema()
        let (first, second) = (try openShared(url), try openShared(url))
        #expect(try first.secrets(orStore: [1, 2]) == [1, 2])
        #expect(try second.replaceSecrets([1, 2], by: [3]))
        #expect(try !first.replaceSecrets([1, 2], by: [4]))
        #expect(try first.secrets(orStore: [5]) == [3])
    }

    @Test func `One node leads, and another one takes over when it closes`() throws {
        let url = try database.makeSchema()
        let (first, second) = (try openShared(url), try openShared(url))
        for store in [first, second] { try store.checkLock() }
        #expect(first.isLeader && !second.isLeader)
        first.close()
        // PostgreSQL releases the lock a moment after the connection was closed.
        while !second.isLeader { try second.checkLock() }
    }

    // MARK: Exclusive stores

    @Test func `A store that another server uses is refused after the time limit, and can be opened when it is closed`()
        throws
    {
        let url = try database.makeSchema()
        let first = try open(url)
        var options = PostgresDatabase.options
        options.lockTimeout = .zero
        let error = #expect(throws: ChatError.self) { _ = try open(url, options) }
        #expect(error?.parameter == "store")
        #expect(error?.message.contains("another server uses (from this machine, since 2") == true)
        try put("alice", in: first)
        first.close()
        // PostgreSQL releases the lock a moment after the connection was closed.
        #expect(try contains("alice", open(url)))
    }

    @Test func `A store that was taken over refuses to write, and says so when it is checked`() throws {
        let url = try database.makeSchema()
        let first = try open(url)
        try first.checkLock()
        // The lock is lost, and another server starts before the store notices.
        try database.endSessions(of: url)
        let second = try open(url)
        #expect { try put("alice", in: first) } throws: { ($0 as? ChatError)?.code == .shuttingDown }
        #expect { try first.checkLock() } throws: { ($0 as? ChatError)?.code == .conflict }
        #expect(try put("bob", in: second) == 1)
        try second.checkLock()
    }

    @Test func `A store whose database lost commits refuses to write, and says so when it is checked`() throws {
        let url = try database.makeSchema()
        let store = try open(url)
        try put("alice", in: store)
        try put("bob", in: store)
        // As a failover to a standby does that was behind.
        try database.execute("UPDATE storeState SET lastCommit = 1", on: url)
        #expect { try put("carol", in: store) } throws: { ($0 as? ChatError)?.code == .shuttingDown }
        let error = #expect(throws: ChatError.self) { try store.checkLock() }
        #expect(error?.code == .conflict)
        #expect(error?.message.contains("from commit 2 to 1") == true)
        store.close()
        #expect(try put("carol", in: open(url)) == 2)
    }

    @Test func `A shared store that lost commits can be written, because its nodes renew the generation`() throws {
        let url = try database.makeSchema()
        let store = try openShared(url)
        try put("alice", in: store)
        try put("bob", in: store)
        try database.execute("DELETE FROM commitNote WHERE number = 2; UPDATE storeState SET lastCommit = 1", on: url)
        try store.checkLock()
        #expect(try put("carol", in: store) == 2)
    }

    @Test func `A store takes its lock again after its connection was lost`() throws {
        let url = try database.makeSchema()
        let first = try open(url)
        try database.endSessions(of: url)
        #expect(!database.isLocked(url))
        try first.checkLock()
        #expect(database.isLocked(url))
        try put("alice", in: first)
    }

    @Test func `A transaction that changes a missing row does not commit, even if that is its last change`() throws {
        let store = try database.makeStore()
        var row = ConversationRow(id: .group("swift"), salt: 1, createdAt: Date(timeIntervalSince1970: 0))
        row.number = 7
        #expect {
            try store.write { [row] writer, _ in
                var row = row
                try writer.put(UserRow(profile: UserProfile(id: "alice")))
                try writer.put(&row)
            }
        } throws: { ($0 as? ChatError)?.code == .internalError }
        #expect(try !contains("alice", store))
        #expect(try store.lastCommit == 0)
    }

    @Test func `A statement that takes too long fails its transaction only`() throws {
        let url = try database.makeSchema()
        let store = try open(url)
        try database.execute(
            """
            CREATE FUNCTION cancel() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN RAISE EXCEPTION USING ERRCODE = ''57014''; RETURN NULL; END';
            CREATE TRIGGER cancel AFTER INSERT ON person FOR EACH ROW WHEN (NEW.id = 'slow') EXECUTE FUNCTION cancel()
            """, on: url)
        #expect { try put("slow", in: store) } throws: { ($0 as? ChatError)?.code == .internalError }
        #expect(try put("alice", in: store) == 1)
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

/// A thread that writes again and again.
private final class WriteLoad: Sendable {
    private struct State {
        var count = 0
        var failure: (any Error)?
        var isEnding = false
    }

    private let state = Mutex(State())
    private let hasEnded = DispatchSemaphore(value: 0)

    init(_ write: @escaping @Sendable () throws -> Void) {
        Thread.detachNewThread { [self] in
            while !state.withLock({ $0.isEnding || $0.failure != nil }) {
                let result = Result { try write() }
                state.withLock { state in
                    state.count += 1
                    if case .failure(let error) = result { state.failure = error }
                }
            }
            hasEnded.signal()
        }
    }

    /// Waits until a write that begins from now on has succeeded.
    ///
    /// - Throws: The error of a write that failed.
    func waitForWrite() throws {
        let start = state.withLock { $0.count }
        while try state.withLock({ state in
            if let failure = state.failure { throw failure }
            return state.count < start + 2
        }) { Thread.sleep(forTimeInterval: 0.001) }
    }

    /// Waits for the last write.
    ///
    /// - Throws: The error of a write that failed.
    func end() throws {
        state.withLock { $0.isEnding = true }
        hasEnded.wait()
        if let failure = state.withLock({ $0.failure }) { throw failure }
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
        let listener = try UnixListener(at: folder.url.appending(component: ".s.PGSQL.5432"))
        defer { listener.close() }
        var options = PostgresStore.Options()
        options.timeout = .milliseconds(20)
        let url = try PostgresURL("postgres://alice@/database?host=\(folder.url.path)")
        let error = #expect(throws: ChatError.self) { _ = try PostgresStore(url, options: options) }
        #expect(error?.parameter == "store")
        #expect(error?.message.contains("does not answer") == true)
    }

    @Test(.needs(.postgres)) func `A store opens if the first server of its URL does not answer`() throws {
        let folder = try TemporaryFolder()
        let listener = try UnixListener(at: folder.url.appending(component: ".s.PGSQL.5432"))
        defer { listener.close() }
        let database = try PostgresDatabase()
        let (url, directory) = (try database.makeSchema(), database.socket.directory)
        var options = PostgresDatabase.options
        options.timeout = .seconds(10)
        let text = url.text.replacing("host=\(directory)", with: "host=\(folder.url.path),\(directory)")
        _ = try PostgresStore(PostgresURL(text), options: options)
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
