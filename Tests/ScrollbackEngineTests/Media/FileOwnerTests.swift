import Foundation
import PictureFixtures
import ScrollbackEngine
import ScrollbackModel
import Synchronization
import Testing

/// A media store in memory that records whose work its operations are.
private final class RecordingMediaStore: MediaStore {
    struct Entry: Equatable {
        var operation: String
        var owner: WorkOwner
    }

    private final class Record: Sendable {
        let entries = Mutex<[Entry]>([])
    }

    private let store: MemoryMediaStore
    private let owner: WorkOwner
    private let record: Record

    init() {
        store = MemoryMediaStore()
        owner = .server
        record = Record()
    }

    private init(_ other: RecordingMediaStore, for owner: WorkOwner) {
        store = other.store
        self.owner = owner
        record = other.record
    }

    func serving(_ owner: WorkOwner) -> any MediaStore { RecordingMediaStore(self, for: owner) }

    /// Returns the operations since the last call.
    func takeEntries() -> [Entry] {
        record.entries.withLock { entries in
            defer { entries = [] }
            return entries
        }
    }

    private func note(_ operation: String) {
        record.entries.withLock { $0.append(Entry(operation: operation, owner: owner)) }
    }

    func open(_ upload: UploadID, at offset: Int64) async throws(ChatError) -> any UploadFile {
        note("open upload")
        return try await store.open(upload, at: offset)
    }

    func remove(_ upload: UploadID) async throws(ChatError) {
        note("remove upload")
        try await store.remove(upload)
    }

    func uploads() async throws(ChatError) -> [UploadID] {
        note("uploads")
        return try await store.uploads()
    }

    func put(_ bytes: [UInt8], as blob: BlobID) async throws(ChatError) {
        note("put")
        try await store.put(bytes, as: blob)
    }

    func open(_ blob: BlobID) async throws(ChatError) -> any BlobFile {
        note("open")
        return try await store.open(blob)
    }

    func read(_ blob: BlobID, at offset: Int64, count: Int) async throws(ChatError) -> [UInt8] {
        note("read")
        return try await store.read(blob, at: offset, count: count)
    }

    func blobs(after: BlobID?, limit: Int) async throws(ChatError) -> [BlobID] {
        note("blobs")
        return try await store.blobs(after: after, limit: limit)
    }

    func remove(_ blob: BlobID) async throws(ChatError) {
        note("remove")
        try await store.remove(blob)
    }
}

@Suite("Owners of the work for files")
struct FileOwnerTests {
    private let group = ConversationID.group("g")
    private let alice = Caller(user: "alice")
    private let media = RecordingMediaStore()
    private let harness: EngineHarness

    init() throws {
        harness = try EngineHarness(media: media)
        try harness.make(group, members: ["alice"])
    }

    private func expect(_ operations: String..., by owner: WorkOwner) {
        #expect(media.takeEntries() == operations.map { .init(operation: $0, owner: owner) })
    }

    @Test("The work for a file is that of its user or administrator, and the work of a cleanup is the server's")
    func owners() async throws {
        let picture = try await harness.upload(SampleFile.png(40, 30), as: .image, to: group, by: "alice")
        expect("put", by: .user("alice"))
        _ = try await harness.engine.bytes(of: picture.id, by: alice)
        expect("read", by: .user("alice"))
        _ = try await harness.engine.putThumbnail(SampleFile.png(4, 3), of: picture.id, by: alice)
        expect("put", by: .user("alice"))
        _ = try await harness.engine.putThumbnail(SampleFile.png(8, 6), of: picture.id, by: alice)
        expect("put", "remove", by: .user("alice"))

        let request = try UploadRequest(conversation: group)
        _ = try await harness.engine.upload(SampleFile.mp3, request, by: EngineHarness.admin)
        expect("put", by: .administrator(EngineHarness.admin.user))

        let row = try await harness.begin(request, by: "alice")
        let transfer = try await harness.engine.transfer(row.id, by: alice, interrupt: {})
        try await transfer.append(SampleFile.mp3)
        _ = try await transfer.finish()
        await transfer.end()
        expect("open upload", "remove upload", by: .user("alice"))
        let cancelled = try await harness.begin(request, by: "alice")
        await (try await harness.engine.transfer(cancelled.id, by: alice, interrupt: {})).cancel()
        expect("remove upload", by: .user("alice"))

        harness.clock.advance(by: 10 * 86_400)
        #expect(try await harness.engine.cleanUpMedia() > 0)
        let cleanup = media.takeEntries()
        #expect(cleanup.contains { $0.operation == "remove" } && cleanup.allSatisfy { $0.owner == .server })
    }

    @Test("An upload of unknown length that exceeds the quota is refused before its bytes become a file")
    func quota() async throws {
        try harness.set { $0.quotas[.fileBytes] = 100 }
        let transfer = try await harness.beginTransfer(
            try UploadRequest(conversation: group), by: alice, isResumable: true)
        try await transfer.append(SampleFile.mp3)
        await #expect(throws: ChatError.self) { try await transfer.finish() }
        // A file whose row is refused is removed again.
        expect("open upload", by: .user("alice"))
    }
}
