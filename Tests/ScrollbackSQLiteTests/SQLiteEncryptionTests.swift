import Foundation
import GRDB
import ScrollbackEngine
import ScrollbackModel
import StoreConformance
import SQLiteSupport
import TestSupport
import Testing

@testable import ScrollbackSQLite

@Suite struct SQLiteEncryptionTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func open(_ keys: StoreKeys?, adopts: Bool = true) throws -> SQLiteStore {
        var options = SQLiteStore.Options()
        options.keys = keys
        options.reencryptsExistingRows = adopts
        return try SQLiteStore(directory: folder.url, options: options)
    }

    private func encryptAll(_ store: SQLiteStore, rows: Int = 500) throws {
        while try store.encryptNextRows(limit: rows) {}
        try store.finishEncryption()
    }

    /// Returns the findings of `verify` about encryption. In other respects, the samples are not a consistent log.
    private func unencryptedValues(_ store: SQLiteStore) throws -> [String] {
        try store.verify { _ in }.filter { $0.contains("can't be decrypted") || $0.contains("encrypted with") }
    }

    /// The words of the samples that are readable in files of the directory.
    private var readableWords: [String] {
        EncryptedStoreSamples.words.filter { !folder.url.files(holding: $0).isEmpty }
    }

    @Test(arguments: StoreConformance.cases)
    func `An encrypted store passes every conformance test`(_ testCase: StoreConformance.Case) throws {
        try StoreConformance { try open(.sample(1)) }.run(testCase)
    }

    @Test func `Every text column is encrypted, or the threat model lists it as readable`()
        throws
    {
        _ = try open(nil)
        let path = folder.url.appending(component: SQLiteStore.fileName).path
        let found = try DatabaseQueue(path: path).read { database in
            try String.fetchAll(
                database,
                sql: """
                    SELECT s.name || '.' || c.name FROM sqlite_schema s, pragma_table_info(s.name) c
                    WHERE s.type = 'table' AND c.type IN ('TEXT', 'BLOB', 'ANY', '') AND s.name NOT LIKE 'sqlite_%'
                    """)
        }
        let sealed = EncryptedTable.all.flatMap { table in table.texts.map { "\(table.name).\($0)" } }
        #expect(Set(sealed).isSubset(of: Set(found)))
        let readable = Set(found).subtracting(sealed)
        #expect(readable == Self.readable, "\(readable.symmetricDifference(Self.readable).sorted())")
        let model = try String(
            contentsOfFile: URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent().appending(path: "Documentation/threat-model.md").path, encoding: .utf8)
        for column in readable {
            let parts = column.split(separator: ".")
            #expect(
                model.contains("`\(column)`") || model.contains("`\(parts[0]).*`"),
                "\(column) is not in the threat model")
        }
    }

    private static let readable: Set<String> = [
        "grdb_migrations.identifier", "incarnation.id", "meta.name", "setting.name", "sealing.position",
        "storeKey.proof",
        "person.id", "conversation.kind", "conversation.target", "conversation.part", "conversation.visibility",
        "message.id", "message.sender", "message.type", "message.customType", "message.replyTo", "message.thread",
        "messageKey.id", "messageKey.sender", "change.operation", "action.sender", "action.type",
        "member.userID", "member.role", "member.level", "span.userID", "bits.userID", "bits.words",
        "deletedRange.userID", "mention.userID", "mention.sender",
        "media.id", "media.owner", "media.conversation", "media.type", "media.mediaType", "media.blob",
        "media.thumbnail", "media.thumbnailType", "mediaUse.media", "upload.id", "upload.media", "upload.owner",
        "upload.conversation", "upload.type", "upload.expected",
        "block.userID", "block.blocked", "mute.userID", "receipt.userID", "invitation.userID", "invitation.inviter",
        "presence.userID", "usage.userID", "ban.userID", "ban.by", "report.message", "report.sender", "report.type",
        "report.reporter",
        "report.reason", "report.closedBy", "delivery.webhook", "delivery.event", "delivery.error", "erasure.id",
        "audit.actor", "audit.keyID", "audit.action", "audit.userID", "audit.detail",
        "erasure.userID", "erasure.replacement", "erasure.error",
        "participant.userID", "threadState.userID", "threadState.thread", "draft.userID",
        "draft.conversation", "scheduled.userID", "scheduled.id", "scheduled.conversation", "scheduled.failure",
        "cancelled.userID", "cancelled.id",
        "incomingWebhook.id", "incomingWebhook.conversation", "incomingWebhook.userID", "incomingWebhook.secretHash",
        "pushUser.userID", "pushUser.language", "pushUser.level", "pushUser.quietFrom", "pushUser.quietTo",
        "pushUser.quietZone", "pushDevice.userID", "pushDevice.device", "pushDevice.service", "pushDevice.token",
        "pushDevice.topic", "pushDevice.language", "pushLevel.userID", "pushWalk.after", "pushRetry.userID",
        "pushRetry.device",
    ]

    @Test func `The files of an encrypted store contain no text, and the files of a plain store contain all of it`()
        throws
    {
        var store = try open(nil)
        try EncryptedStoreSamples.write(to: store)
        let plain = try EncryptedStoreSamples.read(from: store)
        try store.close()
        #expect(readableWords == EncryptedStoreSamples.words)

        try FileManager.default.removeItem(at: folder.url)
        store = try open(.sample(1))
        try EncryptedStoreSamples.write(to: store)
        // The write-ahead log has the newest commits, so the search includes it.
        #expect(readableWords == [])
        #expect(try EncryptedStoreSamples.read(from: store) == plain)
        try store.close()
        #expect(readableWords == [])
        store = try open(.sample(1))
        #expect(try EncryptedStoreSamples.read(from: store) == plain)
    }

    @Test(arguments: [1, 3, 500])
    func `The background task encrypts, changes keys and decrypts, and can stop after any row`(rows: Int)
        throws
    {
        var store = try open(nil)
        try EncryptedStoreSamples.write(to: store)
        var workload = try Workload(store, seed: 7)
        workload.run(steps: 60)
        let before = try EncryptedStoreSamples.read(from: store)
        #expect(try store.encryptionProgress() == nil)
        try store.close()

        // Encrypt, change the key, decrypt. Each time, the store is reopened after a few rows.
        let steps: [(keys: StoreKeys, after: StoreKeys?, isSealed: Bool)] = [
            (.sample(1), .sample(1), true), (.sample(2, 1), .sample(2), true), (.sample(0, 2), nil, false),
        ]
        for (keys, after, isSealed) in steps {
            var last = 0.0
            var isMore = true
            while isMore {
                store = try open(keys)
                let progress = try #require(try store.encryptionProgress())
                #expect(progress.fraction >= last && progress.key == keys.newest?.id)
                last = progress.fraction
                for _ in 0..<10 where isMore { isMore = try store.encryptNextRows(limit: rows) }
                #expect(try EncryptedStoreSamples.read(from: store) == before)
                try store.close()
            }
            store = try open(keys)
            try store.finishEncryption()
            #expect(try store.encryptionProgress()?.isDone ?? true)
            try store.close()
            #expect(readableWords == (isSealed ? [] : EncryptedStoreSamples.words))
            // The older keys are no longer needed.
            store = try open(after)
            #expect(try EncryptedStoreSamples.read(from: store) == before)
            #expect(try unencryptedValues(store) == [])
            try store.close()
        }
    }

    @Test func `Text that was deleted before encryption does not remain in the file`() throws {
        var store = try open(nil)
        let number = try EncryptedStoreSamples.write(to: store)
        let text = MessageContent.text(EncryptedStoreSamples.word("message-content")).json
        try store.write { store, _ in
            for seq in 2...300 as ClosedRange<Seq> {
                try store.insert(
                    MessageRow(
                        seq: seq, countedIndex: seq,
                        timetoken: Timetoken(rawValue: 17_000_000_000_000_000 + UInt64(seq)),
                        id: MessageID(high: 1, low: 2 + UInt64(seq)), sender: "alice", type: .text, content: text,
                        attributes: .init(), digest: 1), in: number)
            }
        }
        try store.write { store, _ in try store.removeMessages(2...300, in: number) }
        try store.close()
        store = try open(.sample(1))
        try encryptAll(store)
        try store.close()
        #expect(readableWords == [])
    }

    @Test func `Rows that are written during a key change are encrypted with the newest key`() throws {
        var store = try open(.sample(1))
        try EncryptedStoreSamples.write(to: store)
        try store.close()
        store = try open(.sample(2, 1))
        var workload = try Workload(store, seed: 3)
        while try store.encryptNextRows(limit: 1) { workload.run(steps: 1) }
        try store.finishEncryption()
        try store.close()
        store = try open(.sample(2))
        #expect(try unencryptedValues(store) == [])
    }

    @Test func `An unfinished key change can't be completed`() throws {
        let store = try open(.sample(1))
        try EncryptedStoreSamples.write(to: store)
        #expect(throws: ChatError.self) { try store.finishEncryption() }
        try encryptAll(store)
    }

    @Test func `A store can't be opened without a key that it still uses`() throws {
        var store = try open(.sample(1))
        try EncryptedStoreSamples.write(to: store)
        try encryptAll(store)
        try store.close()
        let (first, second) = (StoreKeys.sample(1).keys[0].id, StoreKeys.sample(2).keys[0].id)
        var error = #expect(throws: ChatError.self) { try open(nil) }
        #expect(error?.code == .invalidParameter && error?.parameter == "store-keys")
        #expect(error?.message.contains("\(first)") == true)
        error = #expect(throws: ChatError.self) { try open(.sample(2)) }
        #expect(error?.message.contains("\(first)") == true && error?.message.contains("\(second)") == true)
        // The change to the second key has begun and is not done, so the store needs both keys.
        store = try open(.sample(2, 1))
        try store.close()
        #expect(throws: ChatError.self) { try open(.sample(2)) }
        // A third key follows before the change to the second is done. The third key alone doesn't open the store.
        try open(.sample(3, 2, 1)).close()
        #expect(throws: ChatError.self) { try open(.sample(3)) }
    }

    @Test func `Opening a store with a newer key without adopting it leaves the store unchanged`() throws {
        var store = try open(.sample(1))
        try EncryptedStoreSamples.write(to: store)
        try encryptAll(store)
        try store.close()
        store = try open(.sample(2, 1), adopts: false)
        #expect(try unencryptedValues(store) == [])
        try store.close()
        store = try open(.sample(1))
        #expect(try store.encryptionProgress()?.isDone == true)
    }

    // MARK: Damage

    /// Runs SQL on the file without the store.
    private func tamper(_ sql: String, _ arguments: StatementArguments = []) throws {
        let queue = try DatabaseQueue(path: folder.url.appending(component: SQLiteStore.fileName).path)
        try queue.write { try $0.execute(sql: sql, arguments: arguments) }
        try queue.close()
    }

    private func content(_ seq: Seq) throws -> Data {
        let queue = try DatabaseQueue(path: folder.url.appending(component: SQLiteStore.fileName).path)
        return try queue.read { database in
            try Data.fetchOne(
                database, sql: "SELECT CAST(content AS BLOB) FROM message WHERE seq = ?", arguments: [seq])
                ?? Data()
        }
    }

    private func makeTwo() throws {
        let store = try open(.sample(1))
        try store.write { store, commit in
            var row = ConversationRow(id: .group("g"), salt: 7, createdAt: Date(timeIntervalSince1970: 1_700_000_000))
            try store.put(&row)
            for seq in 1...2 as ClosedRange<Seq> {
                try store.insert(
                    MessageRow(
                        seq: seq, countedIndex: seq,
                        timetoken: Timetoken(rawValue: 17_000_000_000_000_000 + UInt64(seq)),
                        id: MessageID(high: 1, low: UInt64(seq)), sender: "alice", type: .text,
                        content: MessageContent.text("number \(seq)").json, attributes: .init(), digest: 1),
                    in: row.number)
            }
            row.head = 2
            row.countedIndex = 2
            row.timetoken = Timetoken(rawValue: 17_000_000_000_000_002)
            row.lastCommit = commit
            try store.put(&row)
        }
        try store.close()
    }

    /// Ways to damage the encrypted value of the second message.
    private enum Damage: CaseIterable {
        case flippedTag, flippedText, flippedNonce, flippedMark, otherRow, otherColumn, cut, otherKey

        func value(of second: Data, first: Data) -> Data {
            var value = second
            switch self {
            case .flippedTag: value[value.count - 1] ^= 1
            case .flippedText: value[20] ^= 0x80
            case .flippedNonce: value[6] ^= 1
            case .flippedMark: value[0] ^= 0x80
            case .otherRow: value = first
            case .otherColumn: break
            case .cut: value = value.prefix(value.count - 3)
            case .otherKey: value[2] ^= 0x10
            }
            return value
        }
    }

    @Test(arguments: Damage.allCases)
    private func `A changed, truncated or moved value can't be decrypted, and the error names its row`(_ damage: Damage)
        throws
    {
        try makeTwo()
        let value = damage.value(of: try content(2), first: try content(1))
        // CAST stores the bytes as a text value.
        try tamper(
            "UPDATE message SET \(damage == .otherColumn ? "extra" : "content") = CAST(? AS TEXT) WHERE seq = 2",
            [value])
        let store = try open(.sample(1))
        let number = try #require(try store.read { try $0.conversation(.group("g"))?.number })
        #expect(try store.read { try $0.message(at: 1, in: number)?.content } == MessageContent.text("number 1").json)
        let error = #expect(throws: ChatError.self) { try store.read { try $0.message(at: 2, in: number) } }
        #expect(error?.code == .internalError)
        if damage == .otherKey {
            #expect(
                error?.message.contains("is encrypted") == true || error?.message.contains("encrypted with") == true)
        } else {
            #expect(error?.message.contains("message \(number)/2 can't be") == true, "\(error?.message ?? "")")
        }
        // `verify` reports the same error.
        let findings = try store.verify { _ in }
        #expect(findings.first == error?.message)
    }

    @Test func `A flipped byte is reported with its row, and a truncated file with its path`() throws {
        try makeTwo()
        let file = folder.url.appending(component: SQLiteStore.fileName)
        let value = try content(2)
        let sound = try Data(contentsOf: file)
        let place = try #require(sound.range(of: value)).lowerBound
        for offset in [0, 2, 6, 20, value.count - 1] {
            var damaged = sound
            damaged[place + offset] ^= 0x40
            try damaged.write(to: file)
            let store = try open(.sample(1))
            let number = try #require(try store.read { try $0.conversation(.group("g"))?.number })
            let error = #expect(throws: ChatError.self) { try store.read { try $0.message(at: 2, in: number) } }
            // A flipped byte in the key ID reads as a missing key.
            let reason = offset == 2 ? "encrypted with the key" : "message \(number)/2 can't be decrypted"
            #expect(error?.message.contains(reason) == true, "byte \(offset): \(error?.message ?? "")")
            #expect(try store.verify { _ in }.first == error?.message)
            try store.close()
            #expect(try SQLiteStore.verify(file: file, keys: .sample(1)) { _ in }.findings.first == error?.message)
        }
        for count in [1, 100, 4_096, sound.count / 2, sound.count - 4_096, sound.count - 1] {
            try sound.prefix(count).write(to: file)
            let error = #expect(throws: ChatError.self) { try open(.sample(1)) }
            #expect(
                error?.code == .internalError && error?.message.contains(file.path) == true,
                "truncated to \(count): \(error?.message ?? "")")
        }
        try sound.write(to: file)
        #expect(try unencryptedValues(try open(.sample(1))) == [])
    }

    @Test func `A changed key proof is refused`() throws {
        try makeTwo()
        try tamper("UPDATE storeKey SET proof = CAST(substr(CAST(proof AS BLOB), 1, 40) || x'00' AS TEXT)")
        let error = #expect(throws: ChatError.self) { try open(.sample(1)) }
        #expect(error?.message.contains("proof of storeKey") == true, "\(error?.message ?? "")")
    }

    @Test func `Messages of an encrypted store are searchable, and their words are never written to a file`()
        async throws
    {
        var store = try open(nil)
        let plain = try SQLiteSearch(store)
        try EncryptedStoreSamples.write(to: store)
        try await plain.indexPendingCommits()
        try plain.close()
        try store.close()
        #expect(!folder.url.files(holding: "sealed").isEmpty)
        #expect(FileManager.default.fileExists(atPath: folder.url.appending(path: "search.sqlite").path))

        store = try open(.sample(1))
        let search = try SQLiteSearch(store)
        try await search.indexPendingCommits()
        #expect(!FileManager.default.fileExists(atPath: folder.url.appending(path: "search.sqlite").path))
        let engine = try Engine(store: store, index: search, execution: .inline)
        let query = SearchQuery("message cont", in: .group("g"))
        let found = await withCheckedContinuation { continuation in
            engine.search(query, by: Caller(user: "admin", isAdmin: true), offload: { $0() }) {
                continuation.resume(returning: $0)
            }
        }
        #expect(try found.get().hits.count == 1)
        try search.close()
    }
}

@Suite struct StoreKeyTests {
    private func refusal(_ text: String) -> String {
        do throws(ChatError) {
            _ = try StoreKeys(text: text)
            return "taken"
        } catch {
            return error.message
        }
    }

    @Test func `Keys are read one per line, the newest first, and their IDs derive from their bytes`() throws {
        let (first, second) = (Data(repeating: 1, count: 32), Data(repeating: 2, count: 32))
        let text = "# since May\n\(first.base64EncodedString())\n\n  \(second.base64EncodedString())  \r\n"
        let keys = try StoreKeys(text: text)
        #expect(keys.keys.map(\.id) == [try StoreKey(first).id, try StoreKey(second).id])
        #expect(keys.newest?.id == keys.keys[0].id && keys.keys[0].id != keys.keys[1].id)
        #expect("\(keys.keys[0].id)".utf8.count == 8)
        let off = try StoreKeys(text: "plain\n" + text)
        #expect(off.newest == nil && off.keys.count == 2)
        #expect(try StoreKeys(text: "plain").keys.isEmpty)
    }

    @Test func `An invalid key is refused with its line number and without its text`() {
        let good = Data(repeating: 1, count: 32).base64EncodedString()
        #expect(
            refusal("") == "keys: it contains no key; create one with `openssl rand -base64 32`."
                || refusal("").contains("no key"))
        #expect(refusal(good + "\nc2VjcmV0").contains("line 2"))
        #expect(!refusal(good + "\nc2VjcmV0").contains("c2VjcmV0"))
        #expect(refusal(good + "\n" + good).contains("line 2 is a duplicate key"))
        #expect(refusal(good + "\nplain").contains("line 2"))
        #expect(throws: ChatError.self) { try StoreKey(Data(count: 16)) }
    }
}
