import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import TestSupport
import Testing

/// Tests recovery after a crash. A copy of the files at any moment equals what a killed process leaves behind.
@Suite struct CrashTests {
    let folder: TemporaryFolder
    let copy: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        copy = try TemporaryFolder()
    }

    private func copyFiles() throws {
        for suffix in ["", "-wal"] {
            let name = SQLiteStore.fileName + suffix
            try? FileManager.default.removeItem(at: copy.url.appending(component: name))
            try FileManager.default.copyItem(
                at: folder.url.appending(component: name), to: copy.url.appending(component: name))
        }
    }

    private func everything(in store: any MessageStore) throws -> [ConversationRow: [MessageRow]] {
        try store.read { store in
            var all: [ConversationRow: [MessageRow]] = [:]
            for number: Int64 in 1...20 {
                guard let row = try store.conversation(numbered: number) else { continue }
                all[row] = try store.messages(
                    in: number, 1...Seq.max, newestFirst: false, limit: .max, filter: .all, reader: "nobody")
            }
            return all
        }
    }

    @Test(arguments: [4_000, 20])
    func `Every acknowledged commit survives a crash`(checkpointPages: Int) throws {
        var options = SQLiteStore.Options()
        options.checkpointPages = checkpointPages
        let store = try SQLiteStore(directory: folder.url, options: options)
        var workload = try Workload(store, seed: 3)
        for _ in 0..<5 {
            workload.run(steps: 40)
            try copyFiles()
            let survivor = try SQLiteStore(directory: copy.url)
            #expect(try everything(in: survivor) == everything(in: store))
            #expect(survivor.generation == store.generation)
            #expect(survivor.lastCommit == store.lastCommit)
            #expect(survivor.newest == store.newest)
            #expect(try survivor.verify { _ in } == [])
            try survivor.close()
        }
    }

    @Test func `A transaction in progress disappears in a crash, however much of it is on disk`() throws {
        var options = SQLiteStore.Options()
        options.cacheMebibytes = 1
        let store = try SQLiteStore(directory: folder.url, options: options)
        var workload = try Workload(store, seed: 4)
        workload.run(steps: 100)
        let before = try everything(in: store)
        let lastCommit = store.lastCommit
        let small = try #require(store.sizes().wal)
        try store.write { writer, _ in
            for seq: Seq in 1000..<1100 {
                let message = MessageRow(
                    seq: seq, countedIndex: seq, timetoken: Timetoken(rawValue: UInt64(seq)),
                    id: MessageID(high: 1, low: UInt64(seq)),
                    sender: "alice", type: .text, content: RawJSON(known: String(repeating: "x", count: 100_000)),
                    attributes: .init(), digest: 0)
                try writer.insert(message, in: 1)
            }
            try copyFiles()
            #expect(store.sizes().wal ?? 0 > small + 5_000_000)
        }
        let survivor = try SQLiteStore(directory: copy.url)
        #expect(try everything(in: survivor) == before)
        #expect(survivor.lastCommit == lastCommit)
        #expect(try survivor.verify { _ in } == [])
    }

    @Test func `A half-written last commit disappears in a crash, and the commits before it survive`() throws {
        let store = try SQLiteStore(directory: folder.url)
        var workload = try Workload(store, seed: 5)
        workload.run(steps: 50)
        let before = try everything(in: store)
        let lastCommit = store.lastCommit
        let size = try #require(store.sizes().wal)
        try store.write { store, _ in try store.put(UserRow(profile: UserProfile(id: "late"))) }
        try copyFiles()
        let wal = try FileHandle(forWritingTo: copy.url.appending(component: SQLiteStore.fileName + "-wal"))
        try wal.truncate(atOffset: UInt64(size) + 1000)
        try wal.close()

        let survivor = try SQLiteStore(directory: copy.url)
        #expect(try everything(in: survivor) == before)
        #expect(survivor.lastCommit == lastCommit)
        #expect(try survivor.read { try $0.user("late") } == nil)
        #expect(try survivor.verify { _ in } == [])
    }
}
