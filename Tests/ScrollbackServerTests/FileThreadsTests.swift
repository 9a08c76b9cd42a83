import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport
import Synchronization
import TestSupport
import Testing

@testable import ScrollbackServer

extension FileThreads {
    /// Starts threads, which run until the end of the process.
    static func started() -> FileThreads {
        let pool = ReaderPool(threads: 4, maximumOwnCount: 100)
        pool.start()
        return FileThreads(pool)
    }
}

/// The shares of users in the threads for media files.
@Suite(.timeLimit(.minutes(2))) struct FileThreadsTests {
    private let folder: TemporaryFolder
    private let pool: ReaderPool
    private let store: DiskMediaStore
    /// The store for a user with slow transfers, and for another user.
    private let (slow, alice): (any MediaStore, any MediaStore)
    private let gate = DispatchSemaphore(value: 0)
    private let bytes = [UInt8](repeating: 7, count: 1000)
    private var blob: BlobID { BlobID(of: bytes) }

    init() async throws {
        folder = try TemporaryFolder()
        pool = ReaderPool(threads: 2, maximumOwnCount: 3)
        pool.start()
        store = try DiskMediaStore(in: folder.url, threads: FileThreads(pool))
        slow = store.serving(.user("slow"))
        alice = store.serving(.user("alice"))
        try await store.put(bytes, as: BlobID(of: bytes))
    }

    /// Occupies the user's share of the threads until the gate opens.
    private func occupy() async throws {
        let isRunning = Atomic<Bool>(false)
        pool.submit(for: .user("slow")) { [gate] in
            isRunning.store(true, ordering: .sequentiallyConsistent)
            gate.wait()
        }
        #expect(try await eventually { isRunning.load(ordering: .sequentiallyConsistent) })
    }

    @Test func `One user's slow transfers leave threads free for another user`() async throws {
        let file = try await slow.open(blob)
        let upload = try await slow.open(UploadID(), at: 0)
        try await occupy()
        let transfers = [
            Task { _ = try await file.read(at: 0, count: 10) }, Task { try await upload.append(bytes) },
            Task { try await slow.remove(UploadID()) },
        ]
        #expect(try await eventually { pool.depth == transfers.count })

        let other = try await alice.open(UploadID(), at: 0)
        try await other.append(bytes + bytes)
        try await other.sync()
        let hash = try await other.hash()
        try await other.persist(as: hash)
        #expect(try await alice.read(hash, at: 0, count: 5000) == bytes + bytes)
        #expect(try await alice.open(hash).read(at: 1990, count: 20).count == 10)
        #expect(pool.depth == transfers.count)

        gate.signal()
        for transfer in transfers { try await transfer.value }
    }

    @Test func `A user with too many waiting transfers can't begin another, and open ones continue`() async throws {
        let file = try await slow.open(blob)
        try await occupy()
        var reads = (0..<3).map { _ in Task { try await file.read(at: 0, count: 10) } }
        #expect(try await eventually { pool.depth == 3 })

        let beginnings: [() async throws -> Void] = [
            { try await slow.put(bytes, as: blob) }, { _ = try await slow.open(blob) },
            { _ = try await slow.read(blob, at: 0, count: 1) },
        ]
        for begin in beginnings {
            let error = await #expect(throws: ChatError.self) { try await begin() }
            #expect(error?.code == .rateLimited && error?.limit == 3)
        }
        reads.append(Task { try await file.read(at: 0, count: 10) })
        #expect(try await eventually { pool.depth == 4 })
        try await alice.put(bytes, as: blob)

        gate.signal()
        for read in reads { #expect(try await read.value.count == 10) }
    }

    @Test func `A download is the work of the user who reads the file`() async throws {
        let engine = try Engine(store: MemoryStore(generation: 1), media: store, execution: .inline)
        let download = MediaDownload(
            of: MediaRow(
                id: MediaID(UUID()), owner: "bob", conversation: .group("g"), type: .file, name: nil,
                mediaType: "text/plain", size: 1000, blob: blob, createdAt: Date()))
        try await occupy()
        let waiting = [
            Task { _ = try await download.bufferedBody(at: 0, count: 10, engine, .user("slow")) },
            Task { _ = try await download.body(at: 0, count: 10, engine, .user("slow")) },
        ]
        #expect(try await eventually { pool.depth == waiting.count })
        _ = try await download.bufferedBody(at: 0, count: 10, engine, .user("alice"))
        _ = try await download.body(at: 0, count: 10, engine, .user("alice"))
        #expect(pool.depth == waiting.count)
        gate.signal()
        for download in waiting { try await download.value }
    }

    @Test(arguments: [false, true])
    func `The hash of a resumed upload takes a turn for each 8 MiB`(isEncrypted: Bool) async throws {
        let turns = Atomic<Int>(0)
        let pool = ReaderPool(threads: 1, maximumOwnCount: 1) { _ in turns.add(1, ordering: .sequentiallyConsistent) }
        pool.start()
        let key = Data(repeating: 1, count: 32).base64EncodedString()
        let store = try DiskMediaStore(
            in: folder.url, threads: FileThreads(pool), keys: isEncrypted ? StoreKeys(text: key) : nil)
        let (id, bytes) = (UploadID(), [UInt8](repeating: 7, count: 20 << 20))
        let first = try await store.open(id, at: 0)
        try await first.append(bytes)
        try await first.sync()
        await first.close()
        let resumed = try await store.open(id, at: Int64(bytes.count))
        let before = turns.load(ordering: .sequentiallyConsistent)
        #expect(try await resumed.hash() == BlobID(of: bytes))
        #expect(turns.load(ordering: .sequentiallyConsistent) - before == 3)
        await resumed.close()
        try await pool.shutdown()
    }
}
