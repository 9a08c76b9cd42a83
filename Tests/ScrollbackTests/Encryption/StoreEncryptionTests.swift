import Foundation
import GRDB
import ScrollbackModel
import ScrollbackSync
import SQLiteSupport
import TestSupport
import Testing

@testable import Scrollback

@Suite("Encryption of the client's store")
struct StoreEncryptionTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func open(_ encryption: StoreEncryption?) throws -> LocalStore {
        try LocalStore(directory: folder.url, user: "alice", keys: encryption?.keys)
    }

    /// The sample words that are readable in the files of the directory.
    private var readableWords: [String] {
        get throws {
            let found = FileManager.default.enumerator(at: folder.url, includingPropertiesForKeys: nil)
            let files = try (found?.allObjects as? [URL] ?? []).filter { !$0.hasDirectoryPath }
                .map { try Data(contentsOf: $0) }
            #expect(!files.isEmpty)
            return StoreSamples.words.filter { word in files.contains { $0.range(of: Data(word.utf8)) != nil } }
        }
    }

    private func database() throws -> DatabaseQueue {
        try DatabaseQueue(path: folder.url.appending(path: "client.sqlite").path)
    }

    // MARK: Encrypted columns

    @Test
    func `Every text column is encrypted or listed as readable in the threat model`()
        throws
    {
        try open(nil).close()
        let found = try database().read { database in
            try String.fetchAll(
                database,
                sql: """
                    SELECT s.name || '.' || c.name FROM sqlite_schema s, pragma_table_info(s.name) c
                    WHERE s.type = 'table' AND c.type IN ('TEXT', 'BLOB', 'ANY', '') AND s.name NOT LIKE 'sqlite_%'
                    """)
        }
        let sealed = EncryptedTable.ofClient.flatMap { table in table.texts.map { "\(table.name).\($0)" } }
        #expect(Set(sealed).isSubset(of: Set(found)))
        let readable = Set(found).subtracting(sealed)
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(
            contentsOf: root.appending(path: "Documentation/threat-model.md"), encoding: .utf8)
        let section = try #require(
            page.components(separatedBy: "\n## ").first { $0.hasPrefix("What stays readable on a device") })
        let listed = Set(section.matches(of: /`([a-zA-Z_]+\.[a-zA-Z0-9*]+)`/).map { String($0.output.1) })
        for column in readable {
            #expect(
                listed.contains(column) || listed.contains(column.prefix { $0 != "." } + ".*"),
                "\(column) is not listed in Documentation/threat-model.md.")
        }
        #expect(listed.isDisjoint(with: sealed))
    }

    @Test func `An encrypted store's files contain no readable text, and a plain store's files do`() async throws {
        var store = try open(nil)
        try await StoreSamples.write(to: store)
        let plain = try await StoreSamples.read(from: store)
        for word in StoreSamples.words { #expect(plain.contains { $0.contains(word) }, "\(word)") }
        try store.close()
        #expect(try readableWords == StoreSamples.words)

        try FileManager.default.removeItem(at: folder.url)
        store = try open(.sample(1))
        try await StoreSamples.write(to: store)
        // This includes the write-ahead log with the newest transactions.
        #expect(try readableWords == [])
        #expect(try await StoreSamples.read(from: store) == plain)
        try store.close()
        #expect(try readableWords == [])
        store = try open(.sample(1))
        #expect(try await StoreSamples.read(from: store) == plain)
        try store.close()
    }

    @Test(arguments: [1, 3, 200])
    func `Encrypting, changing the key and decrypting a store can be interrupted at any point`(
        rows: Int
    ) async throws {
        var store = try open(nil)
        try await StoreSamples.write(to: store)
        _ = try await store.write { try $0.apply((2...9).map { .live(.message(StoreSamples.message($0, "more"))) }) }
        let before = try await StoreSamples.read(from: store)
        #expect(try await store.read { try $0.encryptionProgress() } == nil)
        try store.close()

        let steps: [(given: StoreEncryption, after: StoreEncryption?, isEncrypted: Bool)] = [
            (try .sample(1), try .sample(1), true), (try .sample(2, 1), try .sample(2), true),
            (try .sample(0, 2), nil, false),
        ]
        for (given, after, isEncrypted) in steps {
            var last = 0.0
            var isMore = true
            while isMore {
                store = try open(given)
                let progress = try #require(try await store.read { try $0.encryptionProgress() })
                #expect(progress.fraction >= last && progress.key == given.keys.newest?.id)
                last = progress.fraction
                for _ in 0..<5 where isMore { isMore = try await store.write { try $0.encryptNextRows(limit: rows) } }
                #expect(try await StoreSamples.read(from: store) == before)
                try store.close()
            }
            // An open client completes the rest.
            store = try open(given)
            try await store.encryptRows()
            #expect(try await store.read { try $0.encryptionProgress() }?.isDone ?? true)
            // The write-ahead log is covered too, although the store is still open.
            #expect(try readableWords == (isEncrypted ? [] : StoreSamples.words))
            try store.close()
            store = try open(after)
            #expect(try await StoreSamples.read(from: store) == before)
            #expect(try await store.read { try $0.violations() } == [])
            try store.close()
        }
    }

    @Test func `Deleted messages do not stay in the file of a store that is encrypted later`() async throws {
        var store = try open(nil)
        _ = try await store.write {
            try $0.apply((1...300).map { .live(.message(StoreSamples.message($0, StoreSamples.word("content")))) })
        }
        try await store.write { try $0.deleteConversation(StoreSamples.conversation) }
        try store.close()
        store = try open(.sample(1))
        try await store.encryptRows()
        try store.close()
        #expect(try readableWords == [])
    }

    // MARK: Keys

    @Test func `Opening a store fails without its key, with another key, or without a key that is still in use`()
        async throws
    {
        var store = try open(.sample(1))
        try await StoreSamples.write(to: store)
        try await store.encryptRows()
        try store.close()
        let (first, second) = (
            try StoreEncryption.sample(1).keys.keys[0].id, try StoreEncryption.sample(2).keys.keys[0].id
        )
        var error = #expect(throws: ChatError.self) { try open(nil) }
        #expect(error?.code == .invalidParameter && error?.parameter == "storeEncryption")
        #expect(error?.message.contains("\(first)") == true)
        error = #expect(throws: ChatError.self) { try open(.sample(2)) }
        #expect(error?.message.contains("\(first)") == true && error?.message.contains("\(second)") == true)
        // The second key is in use and the change is incomplete, so both keys are needed.
        store = try open(.sample(2, 1))
        try store.close()
        #expect(throws: ChatError.self) { try open(.sample(2)) }
        try open(.sample(3, 2, 1)).close()
        #expect(throws: ChatError.self) { try open(.sample(3)) }
    }

    @Test func `A store whose key is lost can be erased and created again`() async throws {
        let store = try open(.sample(1))
        try await StoreSamples.write(to: store)
        #expect(throws: ChatError.self) { try ChatClient.erase(.directory(folder.url)) }
        try store.close()
        try ChatClient.erase(.directory(folder.url))
        try ChatClient.erase(.inMemory)
        let recreated = try open(.sample(2))
        #expect(try await recreated.read { try $0.recents(limit: 9) } == [])
        try recreated.close()
        try ChatClient.erase(.directory(folder.url.appending(path: "nothing")))
    }

    @Test func `Invalid store keys are refused by name, and descriptions contain no key bytes`() throws {
        func parameter(_ key: Data?, _ older: [Data] = []) -> String? {
            (#expect(throws: ChatError.self) { try StoreEncryption(key: key, olderKeys: older) })?.parameter
        }
        #expect(parameter(nil) == "key")
        #expect(parameter(Data()) == "key")
        #expect(parameter(StoreSamples.key(1) + [1]) == "key")
        #expect(parameter(StoreSamples.key(1), [StoreSamples.key(2), Data([1])]) == "olderKeys[1]")
        #expect(parameter(StoreSamples.key(1), [StoreSamples.key(1)]) == "olderKeys[0]")
        #expect(parameter(nil, [StoreSamples.key(2), StoreSamples.key(2)]) == "olderKeys[1]")
        let encryption = try StoreEncryption(key: Data("an unlikely key of 32 bytes ....".utf8))
        var text = "\(encryption) \(String(reflecting: encryption))"
        dump(encryption, to: &text)
        #expect(!text.contains("unlikely") && !text.contains("0x"), "\(text)")
    }

    // MARK: Damage

    private enum Damage: CaseIterable {
        case flippedTag, flippedText, cut, otherRow, otherColumn, otherKey
    }

    @Test(arguments: Damage.allCases)
    private func `A damaged, truncated or moved value fails to decrypt with an error that names it`(_ damage: Damage)
        async throws
    {
        var store = try open(.sample(1))
        try await store.write {
            _ = try $0.apply([1, 2].map { .live(.message(StoreSamples.message($0, "number \($0)"))) })
            try $0.save(
                localExtension: RawJSON(known: "1"), of: MessageID(high: 1, low: 1), in: StoreSamples.conversation)
        }
        try store.close()
        let queue = try database()
        try await queue.write { database in
            func content(_ seq: Seq) throws -> Data {
                try Data.fetchOne(database, sql: "SELECT content FROM message WHERE seq = ?", arguments: [seq])
                    ?? Data()
            }
            var value = try content(2)
            var column = "content"
            switch damage {
            case .flippedTag: value[value.count - 1] ^= 1
            case .flippedText: value[20] ^= 0x80
            case .cut: value = value.prefix(value.count - 3)
            case .otherRow: value = try content(1)
            case .otherColumn: column = "extra"
            case .otherKey: value[2] ^= 0x10
            }
            try database.execute(sql: "UPDATE message SET \(column) = ? WHERE seq = 2", arguments: [value])
        }
        try queue.close()
        store = try open(.sample(1))
        let second = StoreSamples.message(2, "").id
        let error = await #expect(throws: ChatError.self) {
            try await store.read { try $0.message(second, in: StoreSamples.conversation) }
        }
        #expect(error?.code == .localStorage)
        let name =
            damage == .otherKey ? "encrypted with the key" : damage == .otherColumn ? "The extra of" : "The content of"
        #expect(error?.message.contains(name) == true, "\(error?.message ?? "")")
        let found = try await store.read { try $0.violations() }
        #expect(found.count == 1 && found[0] == error?.message)
        #expect(
            try await store.read { try $0.message(StoreSamples.message(1, "").id, in: StoreSamples.conversation) }
                != nil)
        try store.close()
    }

    // MARK: Client behavior

    private func client(_ encryption: StoreEncryption?) async throws -> ChatClient {
        let nowhere = try #require(URL(string: "http://127.0.0.1:9"))
        var configuration = ChatClient.Configuration(
            server: nowhere, user: "alice", store: .directory(folder.url), token: { "none" })
        configuration.storeEncryption = encryption
        return try await ChatClient.open(configuration)
    }

    @Test func `Receiving an unchanged name or encrypting the store sends no recents event`() async throws {
        var client = try await client(nil)
        try await StoreSamples.write(to: client.core.store)
        await client.close()
        client = try await self.client(.sample(1))
        var events = client.recents.events.makeAsyncIterator()
        _ = try await client.core.apply([.head(StoreSamples.head(1))])
        try await client.waitForStoreEncryption()
        _ = try await client.core.apply([.head(StoreSamples.head(1, lastCommit: 2))])
        var renamed = StoreSamples.head(1, lastCommit: 3)
        renamed.name = "renamed"
        _ = try await client.core.apply([.head(renamed)])
        guard case .updated(let entry, _) = await events.next() else {
            throw ChatError(.internalError, "The client sent no update event.")
        }
        #expect(entry.name == "renamed")
        await client.close()
    }

    @Test func `A search finds the words of an encrypted store, and no file contains them`() async throws {
        var client = try await client(nil)
        _ = try await client.core.apply([.live(.message(StoreSamples.message(1, StoreSamples.word("content"))))])
        #expect(try await client.search("quartzcont", from: .local).hits.count == 1)
        await client.close()
        #expect(try readableWords == [StoreSamples.word("content")])
        for time in 1...2 as ClosedRange<Seq> {
            client = try await self.client(.sample(1))
            _ = try await client.core.apply([
                .live(.message(StoreSamples.message(1 + time, StoreSamples.word("content"))))
            ])
            // Without a search, no index exists and nothing is queued for it.
            #expect(try await client.core.store.read { try $0.unindexedCount() } == 0)
            #expect(try await client.search("quartzcont", from: .local).hits.count == Int(time) + 1)
            _ = try await client.core.apply([.live(.message(StoreSamples.message(10 + time, "zebra")))])
            #expect(try await client.search("zebr", from: .local).hits.count == Int(time))
            try await client.waitForStoreEncryption()
            #expect(try readableWords == [])
            await client.close()
        }
        client = try await self.client(.sample(0, 1))
        #expect(try await client.search("quartzcont", from: .local).hits.count == 3)
        await client.close()
    }
}
