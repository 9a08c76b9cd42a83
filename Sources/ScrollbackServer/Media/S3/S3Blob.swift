import ScrollbackEngine
import ScrollbackModel

/// A blob in a bucket that is being read.
///
/// Reads that follow each other take few requests: from the second one on, a request reads ahead. If a blob is read
/// from its beginning to its end, its hash is verified before the last bytes are returned.
actor S3Blob: BlobFile {
    nonisolated let size: Int64
    private let blob: BlobID
    private let key: String
    private let client: S3Client
    private let budget: ReadAheadBudget
    /// Bytes of the blob that were read already, and their offset.
    private var ahead: (offset: Int64, bytes: [UInt8]) = (0, [])
    /// The end of the previous read.
    private var next: Int64 = 0
    /// Whether this blob has a share of the budget.
    private var readsAhead = false
    /// The hash of the bytes up to `next`, as long as all of them were read in order.
    private var hasher: BlobHasher? = BlobHasher()

    init(_ blob: BlobID, key: String, size: Int64, _ client: S3Client, _ budget: ReadAheadBudget) {
        self.blob = blob
        self.key = key
        self.size = size
        self.client = client
        self.budget = budget
    }

    deinit { if readsAhead { budget.release() } }

    func read(at offset: Int64, count: Int) async throws(ChatError) -> [UInt8] {
        let count = Int(min(Int64(count), size - offset))
        guard count > 0 else { return [] }
        if offset == next, offset > 0, !readsAhead { readsAhead = budget.acquire() }
        let bytes = try await bytes(at: offset, count)
        // Another read can have come first.
        if offset != next { hasher = nil }
        next = offset + Int64(count)
        bytes.withUnsafeBytes { hasher?.update($0) }
        guard next < size || hasher.map({ $0.finish() == blob }) ?? true else { throw Self.damaged(blob) }
        return bytes
    }

    private func bytes(at offset: Int64, _ count: Int) async throws(ChatError) -> [UInt8] {
        let known = offset - ahead.offset
        var bytes = (0...Int64(ahead.bytes.count)).contains(known) ? Array(ahead.bytes[Int(known)...]) : []
        if bytes.count < count {
            let place = offset + Int64(bytes.count)
            let wanted = max(count, readsAhead ? ReadAheadBudget.share : 0) - bytes.count
            let found = try await client.get(key, at: place, count: Int(min(Int64(wanted), size - place)))
            guard let found else { throw S3MediaStore.missing }
            guard found.size == size else { throw Self.damaged(blob) }
            bytes += found.bytes
        }
        ahead = (offset + Int64(count), Array(bytes[count...]))
        return Array(bytes[..<count])
    }

    static func damaged(_ blob: BlobID) -> ChatError {
        ChatError(
            .internalError, "The file can't be read or written.",
            cause: ChatError(.internalError, "The bytes of the blob \(blob) in the store of files are damaged."))
    }
}
