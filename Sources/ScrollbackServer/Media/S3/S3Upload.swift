import Foundation
import NIOPosix
import ScrollbackEngine
import ScrollbackModel
import Synchronization

/// An upload whose new bytes are in a local file while a request writes them, and in segments of the bucket when they
/// are synced.
///
/// The bytes of earlier requests are loaded from their segments when all bytes are needed, at the end of the upload.
/// One task at a time uses it.
final class S3Upload: UploadFile {
    /// The maximum size of a segment.
    private static let segmentBytes: Int64 = 16 << 20
    /// The size above which blobs are stored in parts, and the size of a part.
    private static let partBytes: Int64 = 16 << 20

    private let upload: UploadID
    private let store: S3MediaStore
    private let local: DiskUpload
    private let state: Mutex<State>

    private struct State {
        /// The number of received bytes.
        var count: Int64
        /// The number of bytes in segments.
        var stored: Int64
        /// The time for the names of segments, or `nil` if the upload may have segments of earlier writers.
        var openedAt: Int64?
        /// The segments that are not in the local file.
        var missing: ArraySlice<UploadSegments.Part>
    }

    /// - Parameters:
    ///   - local: The local file, in which the first `offset` bytes are a hole.
    ///   - segments: The segments with the first bytes, or `nil` at offset 0 if the segments of earlier writers are not
    ///     yet deleted.
    init(
        _ upload: UploadID, at offset: Int64, _ local: DiskUpload, _ segments: UploadSegments?, in store: S3MediaStore
    ) {
        self.upload = upload
        self.store = store
        self.local = local
        state = Mutex(
            State(count: offset, stored: offset, openedAt: segments?.openedAt, missing: segments?.parts[...] ?? []))
    }

    func append(_ bytes: [UInt8]) async throws(ChatError) {
        try await local.append(bytes)
        state.withLock { $0.count += Int64(bytes.count) }
    }

    func sync() async throws(ChatError) {
        let openedAt = try await prepareSegments()
        while case let (stored, count) = state.withLock({ ($0.stored, $0.count) }), stored < count {
            let length = min(count - stored, Self.segmentBytes)
            let segment = UploadSegment(offset: stored, length: length, openedAt: openedAt)
            try await store.client.put(.file(part(at: stored, length)), as: store.key(of: segment, upload))
            state.withLock { $0.stored += length }
        }
    }

    /// Deletes the segments of earlier writers, if that was not done.
    private func prepareSegments() async throws(ChatError) -> Int64 {
        if let openedAt = state.withLock({ $0.openedAt }) { return openedAt }
        let openedAt = try await store.prepareSegments(of: upload, before: 0).openedAt
        state.withLock { $0.openedAt = openedAt }
        return openedAt
    }

    private func part(at offset: Int64, _ count: Int64) -> FilePart {
        FilePart(file: store.directory.url(of: upload), offset: offset, count: count, threads: store.threads)
    }

    /// Loads the bytes of earlier requests into the local file, if they are not there.
    private func loadEarlierBytes() async throws(ChatError) {
        while let part = state.withLock({ $0.missing.first }) {
            try await store.load(part.segment, part.count, of: upload)
            state.withLock { $0.missing = $0.missing.dropFirst() }
        }
    }

    func hash() async throws(ChatError) -> BlobID {
        try await loadEarlierBytes()
        return try await local.hash()
    }

    func examine<Answer: Sendable>(
        _ body: @escaping @Sendable (Data) throws(ChatError) -> Answer
    ) async throws(ChatError) -> Answer {
        try await loadEarlierBytes()
        return try await local.examine(body)
    }

    func persist(as blob: BlobID) async throws(ChatError) {
        let (key, count) = (store.key(of: blob), state.withLock { $0.count })
        // An existing blob of another size is damaged and gets replaced.
        guard try await store.client.size(of: key) != count else { return }
        try await loadEarlierBytes()
        let file = part(at: 0, count)
        if count <= Self.partBytes {
            try await store.client.put(.file(file), as: key)
        } else {
            try await store.client.putParts(of: file, partBytes: Self.partBytes, as: key)
        }
    }

    func close() async {
        await local.close()
        await store.removeLocalFile(of: upload)
    }
}
