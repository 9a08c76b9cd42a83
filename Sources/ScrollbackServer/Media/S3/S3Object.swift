import Foundation
import ScrollbackModel
import SQLiteSupport

/// An object in a bucket that is being read, encrypted or not.
///
/// Reads that follow each other take few requests: from the second one on, a request reads ahead.
actor S3Object {
    /// The number of decrypted bytes.
    nonisolated let size: Int64
    private let key: String
    /// The number of bytes of the object.
    private let length: Int64
    /// Decrypts the chunks if the object is encrypted.
    private let format: EncryptedFile?
    private let client: S3Client
    private let budget: ReadAheadBudget
    /// Bytes of the object that were read already, and their offset.
    private var ahead: (offset: Int64, bytes: [UInt8]) = (0, [])
    /// The end of the previous read.
    private var next: Int64 = 0
    /// Whether this object has a share of the budget.
    private var readsAhead = false

    /// - Parameters:
    ///   - length: The number of bytes of the object.
    ///   - format: The format of an encrypted object.
    init(_ key: String, length: Int64, format: EncryptedFile?, _ client: S3Client, _ budget: ReadAheadBudget) {
        self.key = key
        self.length = length
        self.format = format
        self.client = client
        self.budget = budget
        size = format == nil ? length : EncryptedFile.size(ofLength: length) ?? 0
    }

    deinit { if readsAhead { budget.release() } }

    /// Reads bytes at an offset; at the end of the object, returns fewer than requested.
    ///
    /// - Throws: `unknown-media` if the object does not exist anymore.
    func read(at offset: Int64, count: Int) async throws(ChatError) -> [UInt8] {
        let end = min(size, offset + Int64(count))
        guard offset < end else { return [] }
        if offset == next, offset > 0, !readsAhead { readsAhead = budget.acquire() }
        let bytes: [UInt8]
        if let format {
            bytes = try await decrypted(offset..<end, format)
        } else {
            bytes = try await stored(offset..<end, keepingFrom: end)
        }
        next = end
        return bytes
    }

    private func decrypted(_ range: Range<Int64>, _ format: EncryptedFile) async throws(ChatError) -> [UInt8] {
        let chunkSize = Int64(EncryptedFile.chunkSize)
        let chunks = (range.lowerBound / chunkSize)...((range.upperBound - 1) / chunkSize)
        let first = EncryptedFile.offset(ofChunk: chunks.lowerBound)
        let end = min(length, EncryptedFile.offset(ofChunk: chunks.upperBound + 1))
        // The next read may begin with the same chunk.
        let records = try await stored(
            first..<end, keepingFrom: EncryptedFile.offset(ofChunk: range.upperBound / chunkSize))
        var bytes: [UInt8] = []
        bytes.reserveCapacity(records.count)
        for chunk in chunks {
            let place = Int(EncryptedFile.offset(ofChunk: chunk) - first)
            let result = records[place...].prefix(EncryptedFile.encryptedChunkSize).withUnsafeBytes { record in
                Result { () throws(ChatError) in try format.decrypt(record, chunk: chunk, path: key) }
            }
            bytes += try result.mapError(\.withoutPaths).get()
        }
        return Array(
            bytes.dropFirst(Int(range.lowerBound - chunks.lowerBound * chunkSize))
                .prefix(Int(range.upperBound - range.lowerBound)))
    }

    /// Returns bytes as they are stored.
    ///
    /// - Parameter kept: The offset from which bytes are kept for the next read.
    private func stored(_ range: Range<Int64>, keepingFrom kept: Int64) async throws(ChatError) -> [UInt8] {
        let known = range.lowerBound - ahead.offset
        var bytes = (0...Int64(ahead.bytes.count)).contains(known) ? Array(ahead.bytes[Int(known)...]) : []
        let count = Int(range.upperBound - range.lowerBound)
        if bytes.count < count {
            let place = range.lowerBound + Int64(bytes.count)
            let wanted = max(count, readsAhead ? ReadAheadBudget.share : 0) - bytes.count
            let found = try await client.get(key, at: place, count: Int(min(Int64(wanted), length - place)))
            guard let found else { throw S3MediaStore.missing }
            guard found.size == length else { throw S3MediaStore.damaged(key) }
            bytes += found.bytes
        }
        ahead = (min(kept, range.upperBound), Array(bytes[Int(min(kept, range.upperBound) - range.lowerBound)...]))
        return Array(bytes[..<count])
    }
}
