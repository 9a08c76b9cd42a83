import Foundation
import GRDB
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import TestSupport
import Testing

@Suite struct VerifyTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func `Everything that the engine writes passes verification`(seed: UInt64) throws {
        let store = try SQLiteStore(directory: folder.url)
        var workload = try Workload(store, seed: seed)
        workload.run(steps: 600)
        var last: VerifyProgress?
        #expect(try store.verify { last = $0 } == [])
        let progress = try #require(last)
        #expect(progress.conversations == progress.totalConversations)
        #expect(progress.conversations > 5)
        #expect(progress.messages > 100)
    }

    @Test
    func `A tombstone that never counted passes verification next to a recalled message with the same counted index`()
        async throws
    {
        let store = try SQLiteStore(directory: folder.url)
        let engine = try Engine(store: store, execution: .inline)
        let (log, admin) = (ConversationID.group("a"), Caller(user: "admin", isAdmin: true))
        engine.putConversation(log, ConversationSettings(members: ["alice", "bob"]), by: admin) { _ = $0 }
        func id(_ number: Int) -> MessageID { MessageID(high: 1, low: UInt64(number)) }
        // Every third message is a notice, which shares the counted index of the message before it.
        for number in 1...30 {
            let type = number.isMultiple(of: 3) ? MessageType.notice : .text
            let content = MessageContent(known: type, json: MessageContent.text("hello").json)
            let sender = Caller(user: number % 3 == 1 ? "alice" : "bob")
            engine.send(Submission(id: id(number), content: content), to: log, by: sender) { _ = $0 }
        }
        engine.delete([2, 3, 11, 12, 20, 21].map(id), in: log, by: admin) { _ = $0 }
        engine.hide([5, 8, 14].map(id), in: log, by: Caller(user: "alice")) { _ = $0 }
        for (from, to) in [(4, 6), (13, 15), (22, 24), (1, 2)] as [(Seq, Seq)] {
            engine.delete(DeleteRange(from: .seq(from), to: .seq(to)), of: log, by: admin) { _ = $0 }
            #expect(try store.verify { _ in } == [])
            try await engine.sweep()
            #expect(try store.verify { _ in } == [])
        }
        engine.delete(DeleteRange(from: nil, to: .seq(13)), of: log, by: admin) { _ = $0 }
        #expect(try store.verify { _ in } == [])
        // Messages 16 to 30 without 22 and 23, without the notices, the recalled 20, and alice's own.
        #expect(try engine.head(of: log, by: Caller(user: "alice")).unread == 3)
    }

    @Test func `A former member with an imported message is a member from the beginning, and verification passes`()
        throws
    {
        let store = try SQLiteStore(directory: folder.url)
        let engine = try Engine(store: store, execution: .inline)
        let (log, admin) = (ConversationID.group("a"), Caller(user: "admin", isAdmin: true))
        engine.putConversation(log, ConversationSettings(members: ["alice"]), by: admin) { _ = $0 }
        func send(_ number: UInt64) {
            let submission = Submission(id: MessageID(high: 1, low: number), content: .text("hello"))
            engine.send(submission, to: log, by: Caller(user: "alice")) { _ = $0 }
        }
        send(1)
        engine.putMember("bob", role: nil, of: log, by: admin) { _ = $0 }
        send(2)
        engine.removeMember("bob", from: log, by: admin) { _ = $0 }
        let message = ImportedMessage(
            sender: "bob", sentAt: Date(),
            submission: Submission(id: MessageID(high: 2, low: 1), content: .text("elsewhere")))
        engine.importHistory([message], into: log, by: admin) { _ = $0 }
        let head = try engine.head(of: log, by: Caller(user: "bob"))
        #expect(head.isMember && head.state.firstSeq == 1)
        #expect(try store.verify { _ in } == [])
        engine.removeMember("bob", from: log, by: admin) { _ = $0 }
        send(3)
        engine.putMember("bob", role: nil, of: log, by: admin) { _ = $0 }
        #expect(try store.verify { _ in } == [])
    }

    @Test(arguments: Damage.all)
    func `Verification finds damage and describes it`(damage: Damage) throws {
        var store = try SQLiteStore(directory: folder.url)
        let engine = try Engine(store: store, execution: .inline)
        engine.putConversation(
            .group("a"), ConversationSettings(members: ["alice", "bob"]), by: Caller(user: "admin", isAdmin: true)
        ) { _ = $0 }
        for number: UInt64 in 1...10 {
            let submission = Submission(
                id: MessageID(high: 1, low: number), content: .text("hello"),
                attributes: MessageAttributes(mentions: number == 5 ? .users(["alice"]) : nil))
            engine.send(submission, to: .group("a"), by: Caller(user: number % 3 == 0 ? "alice" : "bob")) { _ = $0 }
        }
        #expect(try store.verify { _ in } == [])
        try store.close()

        let queue = try DatabaseQueue(path: folder.url.appending(component: SQLiteStore.fileName).path)
        try queue.write { database in
            try database.execute(sql: damage.sql)
            #expect(database.changesCount > 0)
        }
        try queue.close()
        store = try SQLiteStore(directory: folder.url)
        let findings = try store.verify { _ in }
        #expect(findings.contains { $0.contains(damage.finding) }, "\(findings)")
    }

    @Test func `Verification of an older file checks its pages and reports its schema version`() throws {
        let store = try SQLiteStore(directory: folder.url)
        var workload = try Workload(store, seed: 1)
        workload.run(steps: 100)
        try store.close()
        let file = folder.url.appending(component: SQLiteStore.fileName)
        let new = try SQLiteStore.verify(file: file) { _ in }
        #expect(new.findings == [] && new.olderSchema == nil)
        let queue = try DatabaseQueue(path: file.path)
        try queue.write { database in
            try database.execute(
                sql: """
                    ALTER TABLE member DROP COLUMN level;
                    DROP TABLE sealing;
                    DELETE FROM grdb_migrations WHERE CAST(identifier AS INTEGER) > 7;
                    """)
        }
        try queue.close()
        let old = try SQLiteStore.verify(file: file) { _ in }
        #expect(old.findings == [] && old.olderSchema == 7)
    }

    @Test func `Verification finds a damaged page`() throws {
        let store = try SQLiteStore(directory: folder.url)
        var workload = try Workload(store, seed: 1)
        workload.run(steps: 300)
        try store.checkpoint()
        let size = store.sizes().database
        try store.close()
        let file = try FileHandle(forUpdating: folder.url.appending(component: SQLiteStore.fileName))
        try file.seek(toOffset: UInt64(size) - 4096)
        try file.write(contentsOf: Data(repeating: 0xFE, count: 4096))
        try file.close()
        let findings = try SQLiteStore(directory: folder.url).verify { _ in }
        #expect(findings.first?.contains("the file is damaged") == true, "\(findings)")
    }
}

/// A way to damage a store of one group with ten messages. Alice wrote every third message, and bob the others.
struct Damage: Sendable, CustomTestStringConvertible {
    var sql: String
    var finding: String

    var testDescription: String { sql }

    static let all: [Damage] = [
        Damage(sql: "DELETE FROM message WHERE seq = 4", finding: "message 4 is missing"),
        Damage(sql: "DELETE FROM message WHERE seq IN (4, 5)", finding: "messages 4 to 5 are missing"),
        Damage(sql: "DELETE FROM message WHERE seq = 10", finding: "the head is 10, but the newest message is 9"),
        Damage(
            sql: "UPDATE message SET countedIndex = 7 WHERE seq = 6",
            finding: "message 6 has the counted index 7, not 6"),
        Damage(sql: "UPDATE message SET type = 'notice' WHERE seq = 6", finding: "counted index 6, not 5"),
        Damage(sql: "UPDATE message SET flags = 2 WHERE seq = 6", finding: "counted index 6, not 5"),
        Damage(
            sql: "UPDATE message SET timetoken = (SELECT timetoken FROM message WHERE seq = 5) WHERE seq = 6",
            finding: "message 6 has the time"),
        Damage(
            sql: "UPDATE conversation SET countedIndex = 9",
            finding: "the counted index is 9, but that of the newest message is 10"),
        Damage(sql: "UPDATE conversation SET timetoken = timetoken + 1", finding: "the newest timetoken is"),
        Damage(sql: "UPDATE conversation SET firstSeq = 2, sweptSeq = 2", finding: "below the first sequence number"),
        Damage(
            sql: "UPDATE conversation SET firstSeq = 2",
            finding: "the index below the floor is 0, but that of the message is 1"),
        Damage(sql: "UPDATE message SET id = x'00' WHERE seq = 3", finding: "does not have 16 bytes"),
        Damage(sql: "UPDATE member SET readCountedIndex = 3 WHERE userID = 'bob'", finding: "bob's read index"),
        Damage(
            sql: "UPDATE member SET readSeq = 11 WHERE userID = 'bob'",
            finding: "bob's read position 11 is not in 0...10"),
        Damage(
            sql: "UPDATE member SET joinCountedIndex = 1 WHERE userID = 'bob'", finding: "bob's join index at 0 is 1"),
        Damage(
            sql: """
                INSERT INTO span (conversation, userID, joined, "left") VALUES (1, 'alice', 5, 7), (1, 'alice', 6, NULL)
                """,
            finding: "alice's membership from 6 starts before the previous one ended"),
        Damage(
            sql: #"UPDATE span SET joined = 5, "left" = 4 WHERE userID = 'alice'"#,
            finding: "alice's membership from 5 ended earlier, at 4"),
        Damage(
            sql: "UPDATE bits SET words = zeroblob(128) WHERE kind = 2 AND userID = 'alice'",
            finding: "whether alice counts message 3"),
        Damage(
            sql: """
                UPDATE bits SET words = x'\(String(repeating: "FF", count: 128))' WHERE kind = 2 AND userID = 'alice'
                """,
            finding: "whether alice counts message 1"),
        Damage(
            sql: "INSERT INTO bits VALUES (1, 1, '', 0, x'10\(String(repeating: "00", count: 127))')",
            finding: "the deletion of message 4"),
        Damage(sql: "UPDATE message SET content = NULL WHERE seq = 4", finding: "the deletion of message 4"),
        Damage(sql: "INSERT INTO change VALUES (1, 2, 0, 1, 1, 0, NULL, 0, 0)", finding: "revision 2 follows 0"),
        Damage(sql: "UPDATE conversation SET rev = 3", finding: "the newest revision is 3"),
        Damage(sql: "UPDATE message SET rev = 1 WHERE seq = 2", finding: "message 2 has revision 1, above 0"),
        Damage(sql: "UPDATE mention SET seq = 12", finding: "a mention refers to message 12, which does not exist"),
        Damage(sql: "UPDATE mention SET sender = 'carol'", finding: "the mention at 5 has the sender carol"),
        Damage(
            sql: "UPDATE conversation SET recentSeq = 11",
            finding: "the head is 10, but the newest message in recents is 11"),
        Damage(
            sql: "INSERT INTO ban VALUES (0, 'bob', 0, 'root', NULL, 0)",
            finding: "bob is banned from the server, but no flag marks the ban"),
        Damage(
            sql: "INSERT INTO ban VALUES (1, 'bob', 0, 'root', NULL, 0)",
            finding: "bob is banned from group a, but no flag marks the ban"),
        Damage(sql: "INSERT INTO ban VALUES (7, 'bob', 0, 'root', NULL, 0)", finding: "the table ban has rows of"),
        Damage(
            sql: "UPDATE message SET thread = (SELECT id FROM message WHERE seq = 1) WHERE seq = 5",
            finding: "message 5 is not in the set of the replies in its thread"),
        Damage(
            sql: "INSERT INTO threadState VALUES (7, 'bob', x'00', 1, 0, 0, 0)",
            finding: "the table threadState has rows of"),
        Damage(sql: "INSERT INTO receipt VALUES (7, 'bob', 1, 0)", finding: "the table receipt has rows of"),
        Damage(
            sql: "INSERT INTO receipt VALUES (1, 'bob', 1, 0)",
            finding: "bob has the read receipt 1, which is not in 0...0"),
        Damage(
            sql: "INSERT INTO receipt VALUES (1, 'bob', 0, 11)",
            finding: "bob has the delivery receipt 11, which is not in 0...10"),
        Damage(
            sql: "INSERT INTO invitation VALUES (7, 'bob', 'alice', 0, NULL)",
            finding: "the table invitation has rows of"),
        Damage(sql: "INSERT INTO mute VALUES (7, 'bob', 0)", finding: "the table mute has rows of"),
        Damage(sql: "INSERT INTO participant VALUES ('bob', 7)", finding: "the table participant has rows of"),
        Damage(
            sql: """
                INSERT INTO report (conversation, message, seq, sender, type, timetoken, reporter, reason, at, isOpen)
                VALUES (7, x'00', 1, 'alice', 'text', 1, 'bob', 'spam', 0, 1)
                """, finding: "the table report has rows of"),
        Damage(sql: "DELETE FROM conversation", finding: "has rows of conversation 1, which does not exist"),
    ]
}
