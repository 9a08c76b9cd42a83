import Foundation
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

    private let upload: UploadID
    private let store: S3MediaStore
    /// The offset of the first byte in the local file.
    private let offset: Int64
    private let local: LocalFile
    private let state: Mutex<State>

    private struct State {
        /// The number of received bytes.
        var count: Int64
        /// The number of bytes in segments.
        var stored: Int64
        /// The segments before the local file, or `nil` if the upload may have segments of earlier writers.
        var segments: UploadSegments?
        /// The local file with all bytes, if it was needed.
        var whole: LocalFile?
    }

    /// - Parameters:
    ///   - local: An empty local file for the bytes from `offset` on.
    ///   - segments: The segments with the first bytes, or `nil` at offset 0 if the segments of earlier writers are not
    ///     yet deleted.
    init(
        _ upload: UploadID, at offset: Int64, _ local: LocalFile, _ segments: UploadSegments?, in store: S3MediaStore
    ) {
        self.upload = upload
        self.store = store
        self.offset = offset
        self.local = local
        state = Mutex(State(count: offset, stored: offset, segments: segments))
    }

    func append(_ bytes: [UInt8]) async throws(ChatError) {
        try await local.upload.append(bytes)
        let outdated = state.withLock { state in
            state.count += Int64(bytes.count)
            defer { state.whole = nil }
            return state.whole
        }
        if let outdated { await store.remove(outdated) }
    }

    func sync() async throws(ChatError) {
        while case let (stored, count) = state.withLock({ ($0.stored, $0.count) }), stored < count {
            let segment = UploadSegment(
                offset: stored, length: min(count - stored, Self.segmentBytes),
                openedAt: try await prepareSegments(), isEncrypted: store.encrypts)
            try await store.put(segment, of: upload, from: local, at: stored - offset)
            state.withLock { $0.stored += segment.length }
        }
    }

    /// Deletes the segments of earlier writers, if that was not done.
    private func prepareSegments() async throws(ChatError) -> Int64 {
        if let segments = state.withLock({ $0.segments }) { return segments.openedAt }
        let segments = try await store.prepareSegments(of: upload, before: 0)
        state.withLock { $0.segments = segments }
        return segments.openedAt
    }

    /// Returns a local file with all bytes.
    private func whole() async throws(ChatError) -> LocalFile {
        guard offset > 0 else { return local }
        let (known, segments, count) = state.withLock { ($0.whole, $0.segments, $0.count) }
        if let known { return known }
        let new = try await store.makeLocalFile()
        do throws(ChatError) {
            for part in segments?.parts ?? [] { try await store.load(part, of: upload, into: new) }
            try await store.copy(local, at: 0, count: count - offset, into: new)
        } catch {
            await store.remove(new)
            throw error
        }
        state.withLock { $0.whole = new }
        return new
    }

    func hash() async throws(ChatError) -> BlobID { try await whole().upload.hash() }

    func examine<Answer: Sendable>(
        _ body: @escaping @Sendable (Data) throws(ChatError) -> Answer
    ) async throws(ChatError) -> Answer {
        try await whole().upload.examine(body)
    }

    func persist(as blob: BlobID) async throws(ChatError) {
        // An existing blob of another size is damaged and gets replaced.
        guard try await store.size(of: blob) != state.withLock({ $0.count }) else { return }
        try await store.put(try await whole(), as: blob)
    }

    func close() async {
        for file in [local, state.withLock { $0.whole }] { if let file { await store.remove(file) } }
    }
}
