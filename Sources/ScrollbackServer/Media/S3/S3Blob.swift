import ScrollbackEngine
import ScrollbackModel

/// A blob in a bucket that is being read.
///
/// If it is read from its beginning to its end, its hash is verified before the last bytes are returned.
actor S3Blob: BlobFile {
    nonisolated let size: Int64
    private let blob: BlobID
    private let store: S3MediaStore
    private var object: S3Object
    /// The end of the previous read.
    private var next: Int64 = 0
    /// The hash of the bytes up to `next`, as long as all of them were read in order.
    private var hasher: BlobHasher? = BlobHasher()

    init(_ blob: BlobID, _ object: S3Object, in store: S3MediaStore) {
        self.blob = blob
        self.object = object
        self.store = store
        size = object.size
    }

    func read(at offset: Int64, count: Int) async throws(ChatError) -> [UInt8] {
        let bytes = try await bytes(at: offset, count: count)
        // Another read can have come first.
        if offset != next { hasher = nil }
        next = offset + Int64(bytes.count)
        bytes.withUnsafeBytes { hasher?.update($0) }
        guard next < size || hasher.map({ $0.finish() == blob }) ?? true else {
            throw S3MediaStore.damaged(blob.description)
        }
        return bytes
    }

    private func bytes(at offset: Int64, count: Int) async throws(ChatError) -> [UInt8] {
        do throws(ChatError) {
            return try await object.read(at: offset, count: count)
        } catch  where store.keys != nil && [.unknownMedia, .internalError].contains(error.code) {
            // After the keys changed, the blob is replaced by one that is encrypted with another key, or not encrypted.
            guard let other = try await store.object(of: blob), other.size == size else { throw error }
            object = other
            return try await other.read(at: offset, count: count)
        }
    }
}
