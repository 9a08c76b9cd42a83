import Dispatch
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import ScrollbackPostgres
import Synchronization
import TestSupport
import Testing

/// Transactions whose reads ahead wait for the lock of a table, as behind a slow disk.
@Suite(.needs(.postgres)) struct PostgresSlowReadAheadTests {
    private let group = ConversationID.group("g")
    private let database: PostgresDatabase
    private let url: PostgresURL
    private let harness: EngineHarness

    init() throws {
        database = try PostgresDatabase()
        url = try database.makeSchema()
        var options = PostgresDatabase.options
        options.timeout = .seconds(8)
        harness = try EngineHarness(store: PostgresStore(url, options: options))
        try harness.make(group, members: ["alice", "bob"])
        try harness.send("first", to: group, by: "alice")
    }

    /// Locks a table, so that reads of it wait.
    private func lock(_ table: String) throws -> PostgresConnection {
        let connection = try PostgresConnection(url, timeout: .seconds(300), idleTransactionTimeout: .seconds(300))
        try connection.execute(script: "BEGIN; LOCK TABLE \(table) IN ACCESS EXCLUSIVE MODE")
        return connection
    }

    private func texts() throws -> [String] { try harness.page(of: group, by: "bob").texts.sorted() }

    @Test func `A read ahead that is late delays its change and does not repeat it`() throws {
        let head = try harness.head(group, "bob").state
        let before = try harness.store.lastCommit
        let blocker = try lock("receipt")
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(200)) {
            try? blocker.execute(script: "COMMIT")
        }
        let summary = try harness.done {
            harness.engine.read(group, seq: head.head, epoch: head.epoch, by: Caller(user: "bob"), completion: $0)
        }
        #expect(summary.unread == 0)
        #expect(try harness.store.lastCommit == before + 1)
        #expect(try texts() == ["first"])
    }

    @Test func `A read ahead that takes too long fails only the change that needs it`() throws {
        let state = try harness.head(group, "bob").state
        let (first, second) = (harness.submission("second"), harness.submission("third"))
        let results = Mutex<[String: ChatError.Code]>([:])
        let blocker = try lock("receipt")
        harness.engine.commits.submit(for: .server, { _ in }) { [self] _ in
            // Everything that is submitted before a transaction completes is in the next one.
            for (submission, user) in [(first, "alice" as UserID), (second, "bob")] {
                harness.engine.send(submission, to: group, by: Caller(user: user)) { result in
                    if case .failure(let error) = result { results.withLock { $0["send"] = error.code } }
                }
            }
            harness.engine.read(group, seq: 1, epoch: state.epoch, by: Caller(user: "bob")) { result in
                if case .failure(let error) = result { results.withLock { $0["read"] = error.code } }
            }
        }
        try blocker.execute(script: "COMMIT")
        #expect(results.withLock { $0 } == ["read": .internalError])
        #expect(try texts() == ["first", "second", "third"])

        // A client repeats what it got no result for.
        #expect(try harness.send(first, to: group, by: "alice").outcome == .duplicate)
        #expect(try harness.send(second, to: group, by: "bob").outcome == .duplicate)
        #expect(try harness.read(group, to: 1, by: "bob").readSeq >= 1)
        #expect(try texts() == ["first", "second", "third"])
    }

    @Test func `A send whose read ahead takes too long is stored once after it is repeated`() throws {
        let submission = harness.submission("second")
        let blocker = try lock("member")
        #expect(refusal { try harness.send(submission, to: group, by: "alice") }?.code == .internalError)
        try blocker.execute(script: "COMMIT")
        #expect(try texts() == ["first"])
        #expect(try harness.send(submission, to: group, by: "alice").outcome == .committed)
        #expect(try harness.send(submission, to: group, by: "alice").outcome == .duplicate)
        #expect(try texts() == ["first", "second"])
    }

    @Test func `A synchronization whose read ahead takes too long fails, and its repetition lacks nothing`() throws {
        let bob = Caller(user: "bob")
        let state = try harness.head(group, "bob").state
        let (_, cursor) = try harness.pass(by: "bob")
        for text in ["second", "third"] { try harness.send(text, to: group, by: "alice") }
        let position = LogPosition(conversation: group, epoch: state.epoch, view: state.view, seq: 1, rev: state.rev)
        let blocker = try lock("mention, message")
        #expect(refusal { _ = try harness.engine.syncWindow(cursor: cursor, limit: 10, by: bob) } != nil)
        #expect(refusal { _ = try harness.engine.syncLogs([position], by: bob) } != nil)
        try blocker.execute(script: "COMMIT")
        let window = try harness.engine.syncWindow(cursor: cursor, limit: 10, by: bob)
        #expect(window.heads.map(\.lastMessage?.text) == ["third"])
        #expect(try harness.engine.syncLogs([position], by: bob)[0].result.get().page.texts == ["second", "third"])
    }
}
