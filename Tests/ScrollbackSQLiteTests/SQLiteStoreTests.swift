import Foundation
import GRDB
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import StoreConformance
import SQLiteSupport
import TestSupport
import Testing

@Suite struct SQLiteStoreTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private var file: URL { folder.url.appending(component: SQLiteStore.fileName) }

    @Test func `Commits are synced to disk before they are acknowledged`() throws {
        let store = try SQLiteStore(directory: folder.url)
        #expect(try store.pragmaValue("journal_mode") == "wal")
        #expect(try store.pragmaValue("synchronous") == "2")
        #expect(try store.pragmaValue("temp_store") == "2")
        #expect(try store.pragmaValue("cache_size") == "-65536")
        #expect(try store.pragmaValue("wal_autocheckpoint") == "4000")
    }

    @Test func `Every statement uses an index`() throws {
        // The conformance tests run all statements, so that the process knows them.
        for keys in [nil, StoreKeys.sample(1)] {
            var options = SQLiteStore.Options()
            options.keys = keys
            let reopened = options
            for testCase in StoreConformance.cases {
                let folder = try TemporaryFolder()
                try StoreConformance { try SQLiteStore(directory: folder.url, options: reopened) }.run(testCase)
            }
        }
        let plans = try SQLiteStore(directory: folder.url).queryPlans()
        #expect(plans.count == (try Self.declaredStatements()) + 12, "a statement is not run, or a filter was added")
        for (statement, steps) in plans {
            // `sqlite_sequence` has one row for each table with AUTOINCREMENT, and no index.
            for step in steps where step != "SCAN sqlite_sequence" {
                #expect(!step.contains("SCAN"), "\(statement)\n\(steps)")
                #expect(!step.contains("TEMP B-TREE"), "\(statement)\n\(steps)")
            }
        }
        func step(_ beginning: String) -> [String] { plans.first { $0.statement.hasPrefix(beginning) }?.steps ?? [] }
        let page = plans.filter { $0.statement.contains("FROM message") && $0.statement.contains("BETWEEN") }
        #expect(page.count > 12)
        for plan in page {
            let names = ["type", "customType", "mentions", "thread"].map { "message_\($0)" }
            let words = plan.statement.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            let index = names.first { words.contains("INDEXED BY \($0) ") }
            let key = index.map { "INDEX \($0)" } ?? "PRIMARY KEY"
            let thread = index == "message_thread" ? "AND thread=? " : ""
            let wanted = "SEARCH message USING \(key) (conversation=? \(thread)AND seq>? AND seq<?)"
            #expect(plan.steps == [wanted], "\(plan.statement)")
        }
        #expect(
            plans.first { $0.statement.contains("FROM message WHERE conversation = ? AND id = ?") }?.steps
                == ["SEARCH message USING INDEX message_id (id=? AND conversation=?)"])
        #expect(
            plans.first { $0.statement.contains("FROM member WHERE userID = ? ORDER") }?.steps
                == ["SEARCH member USING PRIMARY KEY (userID=?)"])
        #expect(
            step("SELECT seq FROM mention").filter { $0.hasPrefix("SEARCH") }
                == Array(
                    repeating: "SEARCH mention USING PRIMARY KEY (conversation=? AND userID=? AND seq>?)", count: 2))
        #expect(
            plans.first { $0.statement.contains("part > ?") }?.steps
                == [
                    "SEARCH conversation USING INDEX sqlite_autoindex_conversation_1 (kind=? AND target=? AND part>?)"
                ])
    }

    /// Counts the statements in the sources, including those of lists such as `["a", "b"].map { Statement("…") }`.
    private static func declaredStatements() throws -> Int {
        let package = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let sources = package.appending(path: "Sources/ScrollbackSQLite")
        let files = try FileManager.default.subpathsOfDirectory(atPath: sources.path)
        return try files.filter { $0.hasSuffix(".swift") }.reduce(0) { count, file in
            let text = try String(contentsOf: sources.appending(path: file), encoding: .utf8)
            let lists = text.matches(of: /\[([^\[\]]*)\]\.map \{\s*Statement\(/)
            return lists.reduce(count + text.matches(of: /= Statement(<\w+>)?\(/).count) { count, list in
                count + list.1.count { $0 == "\"" } / 2
            }
        }
    }

    @Test func `A second store on the same directory is refused until the first is closed`() throws {
        let store = try SQLiteStore(directory: folder.url)
        let error = #expect(throws: ChatError.self) { try SQLiteStore(directory: folder.url) }
        #expect(error?.code == .conflict)
        #expect(error?.message.contains("is in use: only one server") == true)
        try store.close()
        try store.close()
        try SQLiteStore(directory: folder.url).close()
    }

    @Test func `A closed store refuses reads and writes, and a released store closes itself`() throws {
        let store = try SQLiteStore(directory: folder.url)
        try store.close()
        #expect(throws: ChatError(.shuttingDown, "The store is closed.")) { try store.read { _ in } }
        #expect(throws: ChatError(.shuttingDown, "The store is closed.")) { try store.write { _, _ in } }
        do { _ = try SQLiteStore(directory: folder.url) }
        _ = try SQLiteStore(directory: folder.url)
    }

    @Test func `A file with a newer schema is refused, and the error names both versions`() throws {
        try SQLiteStore(directory: folder.url).close()
        let queue = try DatabaseQueue(path: file.path)
        try queue.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('99')") }
        try queue.close()
        let error = #expect(throws: ChatError.self) { try SQLiteStore(directory: folder.url) }
        #expect(error?.message.contains("has schema 99, but this version of the server supports only") == true)
    }

    @Test func `A file of schema 3 is migrated and keeps its mutes and blocks`() throws {
        let group = ConversationRow(id: .group("g"), salt: 1, createdAt: Date())
        let names: [UserID] = ["a", "b", "c"]
        let direct = names.flatMap { a in names.filter { a <= $0 }.map { ConversationID.direct(between: a, and: $0) } }
        let store = try SQLiteStore(directory: folder.url)
        try store.write { store, _ in
            for id in [group.id, .group("free")] + direct {
                var row = ConversationRow(id: id, salt: 1, createdAt: Date())
                try store.put(&row)
            }
            try store.put(.forever, of: "alice", in: 1)
            try store.putBlock(of: "b", by: "a", isOn: true)
            try store.putBlock(of: "a", by: "c", isOn: true)
            try store.putBlock(of: "b", by: "c", isOn: true)
            try store.putBlock(of: "c", by: "b", isOn: true)
        }
        try store.close()
        try undoMigrations(
            [4], of: file,
            """
            ALTER TABLE conversation DROP COLUMN hasMutes;
            ALTER TABLE conversation DROP COLUMN blocks;
            """)
        let new = try SQLiteStore(directory: folder.url)
        func row(_ id: ConversationID) throws -> ConversationRow? { try new.read { try $0.conversation(id) } }
        #expect(try row(group.id)?.hasMutes == true)
        #expect(try row(.group("free"))?.hasMutes == false)
        let blocks = try direct.map { try row($0)?.blocks }
        #expect(blocks == [[], .byFirst, .bySecond, [], [.byFirst, .bySecond], []])
    }

    @Test func `A migration from schema 13 adds the replies and the followers of threads`() throws {
        let old = try SQLiteStore(directory: folder.url)
        let engine = try Engine(store: old, execution: .inline)
        let (log, admin) = (ConversationID.group("a"), Caller(user: "admin", isAdmin: true))
        engine.putConversation(log, ConversationSettings(members: ["alice", "bob", "carol"]), by: admin) { _ = $0 }
        func send(_ number: UInt64, _ user: UserID, replyTo: UInt64? = nil, _ type: MessageType = .text) {
            let id = MessageID(high: 1, low: number)
            var attributes = MessageAttributes()
            attributes.replyTo = replyTo.map { MessageID(high: 1, low: $0) }
            if number == 1_300 { attributes.mentions = .users(["carol"]) }
            let content = MessageContent(known: type, json: MessageContent.text("hello").json)
            engine.send(Submission(id: id, content: content, attributes: attributes), to: log, by: Caller(user: user)) {
                _ = $0
            }
        }
        for number in 1...2 as ClosedRange<UInt64> { send(number, "alice") }
        // The replies are in two blocks, and some of them don't count.
        for number in 3...1_300 as ClosedRange<UInt64> {
            send(number, "bob", replyTo: number % 7 == 0 ? 2 : 1, number % 5 == 0 ? .notice : .text)
        }
        func content(_ store: SQLiteStore) throws -> ([[ThreadStateRow]], [[BitBlock]]) {
            try store.read { store in
                let users: [UserID] = ["alice", "bob", "carol"]
                return (
                    try users.map { try store.threadStates(of: $0, in: 1, after: nil, limit: 9) },
                    try (1...2).map { number in
                        try store.bits(.replies(MessageID(high: 1, low: number)), of: 1, blocks: 0...9)
                    }
                )
            }
        }
        let before = try content(old)
        #expect(before.0.map(\.count) == [2, 2, 1] && before.1.map(\.count) == [2, 2])
        try old.close()
        try undoMigrations(
            [14], of: file,
            "DROP INDEX message_lastReply; DROP TABLE threadState; DELETE FROM bits WHERE kind = 3;")
        let new = try SQLiteStore(directory: folder.url)
        let after = try content(new)
        #expect(after.0 == before.0 && after.1 == before.1)
        #expect(try new.verify { _ in } == [])
        #expect(try new.read { try $0.threads(in: 1, before: nil, limit: 9) }.map(\.seq) == [1, 2])
    }

    @Test func `A file of schema 9 keeps its generation and begins an incarnation when it is served`() throws {
        let old = try SQLiteStore(directory: folder.url)
        let generation = old.generation
        try old.write { store, _ in
            var row = ConversationRow(id: .group("g"), salt: 1, createdAt: Date())
            try store.put(&row)
        }
        let last = old.lastCommit
        try old.close()
        try undoMigrations([12], of: file, "DROP TABLE incarnation")
        let new = try SQLiteStore(directory: folder.url)
        #expect(new.generation == generation)
        _ = try Engine(store: new, execution: .inline)
        let rows = try new.read { try $0.incarnations() }
        #expect(rows.map(\.firstCommit) == [last + 1] && rows.map(\.generation) == [generation])
        #expect(rows[0].lostAfter == nil)
    }

    @Test func `A store of schema 13 keeps its webhook and the events that wait for it`() throws {
        let settings = #"""
            {"webhooks":{"after":{"url":"http://hook.invalid/","secret":"0123456789abcdef"}}}
            """#
        let old = try SQLiteStore(directory: folder.url)
        try old.write { store, _ in
            var row = ConversationRow(id: .group("g"), salt: 1, createdAt: Date())
            try store.put(&row)
            try store.put(settings: RawJSON(known: settings))
        }
        try old.close()
        let columns = ["webhook", "event", "seq", "original", "attempts", "attemptedAt", "error", "isDelivered"]
        let indexes = ["pending", "webhook", "content", "time", "logged"]
        let drops =
            indexes.map { "DROP INDEX delivery_\($0);" } + columns.map { "ALTER TABLE delivery DROP COLUMN \($0);" }
        try undoMigrations(
            [16, 19], of: file,
            """
            \(drops.joined())
            CREATE INDEX delivery_conversation ON delivery (conversation, number);
            INSERT INTO delivery (number, conversation, body) VALUES (3, 1, '{"event":"message"}');
            INSERT INTO delivery (number, conversation, body) VALUES (4, 1, '{"event":"changed"}');
            """)
        let new = try SQLiteStore(directory: folder.url)
        let engine = try Engine(store: new, execution: .inline)
        #expect(engine.pendingDeliveries == 2)
        let after = engine.settings.moderation.webhooks.after
        #expect(after?.url == "http://hook.invalid/" && after?.events == WebhookEvent.Kind.standard)
        let rows = try new.read { try $0.deliveries(to: "after", of: 1, limit: 9) }
        #expect(rows.map(\.number) == [3, 4] && rows.map(\.event) == [nil, nil] && rows.map(\.attempts) == [0, 0])
        #expect(rows.map(\.body.text) == [#"{"event":"message"}"#, #"{"event":"changed"}"#])
    }

    @Test func `A store of schema 9 opens and records what users add`() throws {
        let old = try SQLiteStore(directory: folder.url)
        try old.close()
        try undoMigrations([10], of: file, "DROP TABLE usage")
        let new = try SQLiteStore(directory: folder.url)
        let usage = UsageRow(day: 20_000, growth: Growth(groups: 1, members: 2, fileBytes: 3, messageBytes: 4))
        try new.write { store, _ in try store.put(usage, of: "alice") }
        #expect(try new.read { try $0.usage(of: "alice") } == usage)
    }

    @Test func `A migration from schema 6 records the participants who are not members`() throws {
        let old = try SQLiteStore(directory: folder.url)
        try old.write { store, _ in
            for id in [ConversationID.room("lobby"), .group("g")] {
                var row = ConversationRow(id: id, salt: 1, createdAt: Date())
                try store.put(&row)
                try store.put(MemberRow(conversation: row.number, user: "alice", standing: .left))
                for (seq, sender) in [(1, "alice"), (2, "bob"), (3, "bob")] as [(Seq, UserID)] {
                    try store.insert(
                        MessageRow(
                            seq: seq, countedIndex: seq, timetoken: Timetoken(rawValue: UInt64(seq)),
                            id: MessageID(high: UInt64(row.number), low: UInt64(seq)), sender: sender, type: .text,
                            content: RawJSON(known: "{}"), attributes: .init(), digest: 0), in: row.number)
                }
            }
            try store.insert(
                ActionRow(seq: 1, timetoken: Timetoken(rawValue: 9), sender: "carol", type: "reaction", value: "x"),
                in: 1)
            try store.insert(
                KeyRow(
                    id: MessageID(high: 9, low: 9), sender: "dora", digest: 0, seq: 1, countedIndex: 1,
                    timetoken: Timetoken(rawValue: 1)), in: 1)
            try store.put(.forever, of: "erin", in: 2)
            try store.put(UserRow(profile: UserProfile(id: "alice"), rev: 3))
        }
        try old.close()
        try undoMigrations(
            [7], of: file,
            """
            DROP TABLE ban; DROP TABLE report; DROP TABLE erasure; DROP TABLE guest;
            DROP INDEX media_owner; DROP INDEX user_state;
            ALTER TABLE user DROP COLUMN state; ALTER TABLE user DROP COLUMN isBanned;
            ALTER TABLE conversation DROP COLUMN marks;
            """)
        let new = try SQLiteStore(directory: folder.url)
        let (participations, alice) = try new.read { store in
            (
                try ["alice", "bob", "carol", "dora", "erin"].map {
                    try store.participations(of: $0, after: 0, limit: 9)
                },
                try store.user("alice")
            )
        }
        #expect(participations == [[], [1, 2], [1], [1], [2]])
        #expect(alice == UserRow(profile: UserProfile(id: "alice"), rev: 3))
    }

    @Test func `A migration from schema 9 lets ended memberships end with their last visible message`() throws {
        let (group, id) = (ConversationID.group("g"), MessageID(high: 1, low: 1))
        let (admin, bob) = (Caller(user: "root", isAdmin: true), Caller(user: "bob"))
        let old = try SQLiteStore(directory: folder.url)
        let before = try Engine(store: old, execution: .inline)
        before.putConversation(group, .init(name: "Name", members: ["alice", "bob"]), by: admin) { _ = $0 }
        before.send(Submission(id: id, content: .text("old")), to: group, by: Caller(user: "alice")) { _ = $0 }
        before.removeMember("bob", from: group, by: admin) { _ = $0 }
        before.edit(id, in: group, MessageEdit(.text("new")), by: Caller(user: "alice")) { _ = $0 }
        try old.close()
        let columns = [
            ("span", ["endedAt", "rev", "isVoluntary", "name", "avatar"]), ("conversation", ["namedAt"]),
            ("media", ["thumbnailAt"]), ("user", ["isInvitationOnly"]),
        ]
        let drops = columns.flatMap { table, names in names.map { "ALTER TABLE \(table) DROP COLUMN \($0);" } }
        try undoMigrations([11], of: file, drops.joined())
        let new = try Engine(store: SQLiteStore(directory: folder.url), execution: .inline)
        let head = try new.head(of: group, by: bob)
        #expect(!head.isMember && head.name == "Name")
        #expect(try new.message(id, in: group, by: bob).isDeleted)
        #expect(try new.message(id, in: group, by: Caller(user: "alice")).text == "new")
    }

    @Test(arguments: [nil, StoreKeys.sample(1)])
    func `A file of schema 23 keeps the rows of the tables that schema 24 renames`(keys: StoreKeys?) async throws {
        var options = SQLiteStore.Options()
        options.keys = keys
        let (group, admin) = (ConversationID.group("g"), Caller(user: "root", isAdmin: true))
        let alice = UserRow(profile: UserProfile(id: "alice", name: "Alice"), rev: 3)
        let old = try SQLiteStore(directory: folder.url, options: options)
        let engine = try Engine(store: old, execution: .inline)
        engine.putConversation(group, .init(name: "Name", members: ["alice", "bob"]), by: admin) { _ = $0 }
        for number in 1...6 as ClosedRange<UInt64> {
            let submission = Submission(id: MessageID(high: 1, low: number), content: .text("hello"))
            engine.send(submission, to: group, by: Caller(user: "alice")) { _ = $0 }
        }
        engine.delete(DeleteRange(from: .seq(2), to: .seq(4)), of: group, by: admin) { _ = $0 }
        try await engine.sweep()
        try old.write { store, _ in
            try store.put(alice)
            try store.insertParticipant("carol", in: 1)
            try store.put(PushUserRow(user: "alice", preferences: PushPreferences(language: "de"), deviceCount: 1))
            try store.putPushLevel(.all, of: "alice", in: 1)
        }
        func rows(_ store: SQLiteStore) throws -> [String: [StoredValues]] {
            let tables = try store.storedTables().map { table in
                (table.name, try store.storedRows(of: table, after: nil, limit: 100))
            }
            return Dictionary(uniqueKeysWithValues: tables)
        }
        let (before, lastCommit) = (try rows(old), old.lastCommit)
        for table in SQLiteStore.renamedTables {
            #expect(before[table.new.lowercased()]?.isEmpty == false, "\(table.new)")
        }
        try old.close()
        try undoMigrations(of: file)
        #expect(try SQLiteStore.verify(file: file, keys: keys) { _ in }.olderSchema == 23)

        let new = try SQLiteStore(directory: folder.url, options: options)
        #expect(try rows(new) == before)
        #expect(new.lastCommit == lastCommit)
        #expect(try new.read { try $0.user("alice") } == alice)
        #expect(try new.verify { _ in } == [])
    }

    @Test func `Migration 25 keeps members and states of threads`() throws {
        var member = MemberRow(conversation: 1, user: "alice", standing: .left, role: .owner)
        (member.joinSeq, member.joinCountedIndex, member.readSeq, member.readCountedIndex) = (1, 2, 3, 4)
        (member.clearSeq, member.clearCountedIndex, member.removedSeq, member.newDeviceFloor) = (5, 6, 7, 8)
        (member.markedRev, member.view, member.userRev, member.level) = (9, 10, 11, .mentions)
        (member.mutesPushes, member.isMarkedUnread, member.hasDeletedRanges) = (true, false, true)
        let thread = ThreadStateRow(
            thread: MessageID(high: 1, low: 2), following: .unfollowed, readSeq: 3, readCountedIndex: 4, userRev: 5)
        let old = try SQLiteStore(directory: folder.url)
        try old.write { store, _ in
            var row = ConversationRow(id: .group("g"), salt: 1, createdAt: Date())
            try store.put(&row)
            try store.put(member)
            try store.put(MemberRow(conversation: 1, user: "bob", standing: .reader))
            try store.put(thread, of: "alice", in: 1)
        }
        try old.close()
        try undoMigrations(of: file)
        let new = try SQLiteStore(directory: folder.url)
        let (members, state) = try new.read { store in
            (
                try (["alice", "bob"] as [UserID]).map { try store.member($0, of: 1) },
                try store.threadState(of: "alice", in: thread.thread, of: 1)
            )
        }
        #expect(members == [member, MemberRow(conversation: 1, user: "bob", standing: .reader)])
        #expect(state == thread)
    }

    @Test func `The main file of a closed store contains everything, without the write-ahead log`() throws {
        let store = try SQLiteStore(directory: folder.url)
        for _ in 0..<3 { try store.write { store, _ in try store.put(UserRow(profile: UserProfile(id: "alice"))) } }
        try store.close()
        let copy = try TemporaryFolder()
        try FileManager.default.copyItem(
            at: folder.url.appending(component: SQLiteStore.fileName),
            to: copy.url.appending(component: SQLiteStore.fileName))
        let restored = try SQLiteStore(directory: copy.url)
        #expect(try restored.read { try $0.user("alice") } != nil)
        #expect(restored.lastCommit == store.lastCommit)
    }

    @Test func `Generation, commit number and newest timetoken survive reopening`() throws {
        var store = try SQLiteStore(directory: folder.url)
        let generation = store.generation
        try store.write { store, commit in
            for (name, time) in [("a", UInt64(1) << 63 | 5), ("b", 7), ("c", 1 << 62)] as [(Identifier, UInt64)] {
                var row = ConversationRow(id: .group(name), salt: 1, createdAt: Date())
                row.timetoken = Timetoken(rawValue: time)
                row.lastCommit = commit
                try store.put(&row)
            }
        }
        // Commits that touch no conversation have numbers too, and clients can know them.
        for _ in 0..<3 { try store.write { store, _ in try store.put(UserRow(profile: UserProfile(id: "alice"))) } }
        try store.close()

        store = try SQLiteStore(directory: folder.url)
        #expect(store.generation == generation)
        #expect(store.lastCommit == 4)
        #expect(store.newest == Timetoken(rawValue: 1 << 63 | 5))
        #expect(try store.write { _, commit in commit } == 5)
    }

    @Test func `Two stores have different generations`() throws {
        let other = try TemporaryFolder()
        #expect(
            try SQLiteStore(directory: folder.url).generation != SQLiteStore(directory: other.url).generation)
    }

    @Test func `A checkpoint moves everything into the main file`() throws {
        let store = try SQLiteStore(directory: folder.url)
        var workload = try Workload(store, seed: 1)
        workload.run(steps: 50)
        let before = store.sizes()
        #expect(before.wal ?? 0 > 0)
        try store.checkpoint()
        let after = store.sizes()
        #expect(after.wal == 0)
        #expect(after.database > before.database)
    }
}
