import Foundation
package import ScrollbackModel
import Synchronization

/// A media store in memory, for tests of the engine and of apps.
///
/// Its contents are lost when the process ends.
package final class MemoryMediaStore: MediaStore {
    fileprivate struct State {
        var uploads: [UploadID: [UInt8]] = [:]
        var blobs: [BlobID: [UInt8]] = [:]
    }

    fileprivate let state = Mutex(State())

    package init() {}

    package func serving(_ owner: WorkOwner) -> any MediaStore { self }

    package func open(_ upload: UploadID, at offset: Int64) async throws(ChatError) -> any UploadFile {
        let exists = state.withLock { state in
            let known = state.uploads[upload] ?? []
            guard known.count >= offset else { return false }
            state.uploads[upload] = Array(known.prefix(Int(offset)))
            return true
        }
        guard exists else { throw ChatError(.unknownUpload, "Bytes of the upload were lost. Begin a new upload.") }
        return MemoryUpload(store: self, id: upload)
    }

    package func remove(_ upload: UploadID) async throws(ChatError) {
        state.withLock { $0.uploads[upload] = nil }
    }

    package func uploads() async throws(ChatError) -> [UploadID] { state.withLock { Array($0.uploads.keys) } }

    package func put(_ bytes: [UInt8], as blob: BlobID) async throws(ChatError) {
        state.withLock { $0.blobs[blob] = bytes }
    }

    package func open(_ blob: BlobID) async throws(ChatError) -> any BlobFile {
        guard let bytes = state.withLock({ $0.blobs[blob] }) else {
            throw ChatError(.unknownMedia, "The file's bytes do not exist.")
        }
        return MemoryBlob(bytes)
    }

    package func read(_ blob: BlobID, at offset: Int64, count: Int) async throws(ChatError) -> [UInt8] {
        try await open(blob).read(at: offset, count: count)
    }

    package func blobs(after: BlobID?, limit: Int) async throws(ChatError) -> [BlobID] {
        let all = state.withLock { state in state.blobs.keys.filter { id in after.map { $0 < id } ?? true } }
        return Array(all.sorted().prefix(limit))
    }

    package func remove(_ blob: BlobID) async throws(ChatError) {
        state.withLock { $0.blobs[blob] = nil }
    }
}

private final class MemoryUpload: UploadFile {
    let store: MemoryMediaStore
    let id: UploadID

    init(store: MemoryMediaStore, id: UploadID) {
        self.store = store
        self.id = id
    }

    private var bytes: [UInt8] { store.state.withLock { $0.uploads[id] ?? [] } }

    func append(_ bytes: [UInt8]) async throws(ChatError) {
        store.state.withLock { $0.uploads[id, default: []] += bytes }
    }

    func sync() async throws(ChatError) {}
    func hash() async throws(ChatError) -> BlobID { BlobID(of: bytes) }

    func examine<Answer: Sendable>(
        _ body: @escaping @Sendable (Data) throws(ChatError) -> Answer
    ) async throws(ChatError) -> Answer {
        try body(Data(bytes))
    }

    func persist(as blob: BlobID) async throws(ChatError) {
        let bytes = bytes
        store.state.withLock { $0.blobs[blob] = bytes }
    }

    func close() async {}
}

private final class MemoryBlob: BlobFile {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var size: Int64 { Int64(bytes.count) }

    func read(at offset: Int64, count: Int) async throws(ChatError) -> [UInt8] {
        Array(bytes.dropFirst(Int(offset)).prefix(count))
    }
}
