import Crypto
package import Foundation
package import ScrollbackModel

/// The format of an encrypted file, in which any part can be read without the rest.
///
/// | bytes | content |
/// |---|---|
/// | 0–3 | `SBF1` |
/// | 4–7 | the key ID |
/// | 8–23 | 16 random bytes to which each chunk is bound |
/// | 24–31 | the size of the plaintext in bytes, big-endian |
/// | 32–59 | a nonce and a tag that bind the header to the file's name |
/// | 60–63 | 0 |
/// | from 64 | chunks: nonce (12 bytes), up to 64 KiB encrypted with AES-256-GCM, tag (16 bytes) |
///
/// Each chunk is bound to its file and its number, and the header to the file's name and length. Altered, missing or
/// moved chunks, and truncated or renamed files, can't be decrypted.
package struct EncryptedFile: Sendable {
    /// The number of plaintext bytes in a chunk.
    package static let chunkSize = 65_536
    /// The number of bytes before the first chunk.
    package static let headerSize = 64
    /// The number of bytes of an encrypted chunk.
    package static let encryptedChunkSize = nonceCount + chunkSize + tagCount
    private static let nonceCount = 12
    private static let tagCount = 16
    private static let magic = [UInt8]("SBF1".utf8)

    package let key: StoreKey
    private let id: UUID

    /// Creates the format of a new file.
    package init(encryptedWith key: StoreKey) {
        self.key = key
        id = UUID()
    }

    private init(_ key: StoreKey, _ id: UUID) {
        self.key = key
        self.id = id
    }

    // MARK: Sizes

    /// Returns the length of an encrypted file for a plaintext size.
    package static func length(of size: Int64) -> Int64 {
        let (chunks, rest) = (size / Int64(chunkSize), size % Int64(chunkSize))
        return Int64(headerSize) + chunks * Int64(encryptedChunkSize)
            + (rest > 0 ? rest + Int64(nonceCount + tagCount) : 0)
    }

    /// Returns the plaintext size for the length of an encrypted file; `nil` if the length is invalid.
    package static func size(ofLength length: Int64) -> Int64? {
        let sealed = length - Int64(headerSize)
        guard sealed >= 0 else { return nil }
        let (chunks, rest) = (sealed / Int64(encryptedChunkSize), sealed % Int64(encryptedChunkSize))
        guard rest == 0 || rest > Int64(nonceCount + tagCount) else { return nil }
        return chunks * Int64(chunkSize) + (rest == 0 ? 0 : rest - Int64(nonceCount + tagCount))
    }

    /// Returns the offset of a chunk in an encrypted file.
    package static func offset(ofChunk chunk: Int64) -> Int64 { Int64(headerSize) + chunk * Int64(encryptedChunkSize) }

    // MARK: The header

    /// Creates the header of a file.
    ///
    /// - Parameters:
    ///   - name: The name of the file, without which it can't be decrypted.
    ///   - size: The plaintext size in bytes.
    package func header(name: String, size: Int64) throws -> [UInt8] {
        var bytes = Self.magic
        withUnsafeBytes(of: key.id.bits.bigEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: id.uuid) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: size.bigEndian) { bytes.append(contentsOf: $0) }
        let seal = try AES.GCM.seal([UInt8](), using: key.files, authenticating: bytes + Array(name.utf8))
        bytes.append(contentsOf: seal.nonce)
        bytes.append(contentsOf: seal.tag)
        return bytes + [0, 0, 0, 0]
    }

    /// Returns the key ID and the plaintext size in a header; `nil` if it is not a header.
    package static func headerFields(of header: [UInt8]) -> (key: StoreKey.ID, size: Int64)? {
        guard header.count == headerSize, header.starts(with: magic) else { return nil }
        return header.withUnsafeBytes { bytes in
            (
                StoreKey.ID(bits: UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self))),
                Int64(bigEndian: bytes.loadUnaligned(fromByteOffset: 24, as: Int64.self))
            )
        }
    }

    /// Opens a file by its header.
    ///
    /// - Parameters:
    ///   - header: The header.
    ///   - name: The name of the file; `nil` skips its verification.
    ///   - length: The length of the whole file; `nil` skips its verification.
    ///   - path: The name of the file in errors.
    ///   - keys: The available keys.
    /// - Throws: `internal-error` naming the file or the missing key.
    package init(
        header: [UInt8], name: String?, length: Int64?, path: String, keys: StoreKeys?
    ) throws(ChatError) {
        guard let facts = Self.headerFields(of: header) else { throw Self.corruptFileError(path) }
        guard let key = keys?[facts.key] else {
            throw ChatError(
                .internalError,
                "The file \(path) is encrypted with the key \(facts.key), which is not among the given keys.")
        }
        if let length, length != Self.length(of: facts.size) { throw Self.corruptFileError(path) }
        if let name {
            do {
                let box = try AES.GCM.SealedBox(
                    nonce: AES.GCM.Nonce(data: header[32..<44]), ciphertext: [UInt8](), tag: header[44..<60])
                _ = try AES.GCM.open(
                    box, using: key.files, authenticating: Array(header[0..<32]) + Array(name.utf8))
            } catch {
                throw Self.corruptFileError(path)
            }
        }
        let id = header.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 8, as: uuid_t.self) }
        self.init(key, UUID(uuid: id))
    }

    package static func corruptFileError(_ path: String) -> ChatError {
        ChatError(
            .internalError,
            "The file \(path) can't be decrypted: it was altered, truncated or renamed. Restore it from a backup."
        )
    }

    // MARK: Chunks

    private func authenticated(_ chunk: Int64) -> [UInt8] {
        withUnsafeBytes(of: id.uuid) { Array($0) } + withUnsafeBytes(of: chunk.bigEndian) { Array($0) }
    }

    package func encrypt(_ bytes: UnsafeRawBufferPointer, chunk: Int64) throws -> [UInt8] {
        let box = try AES.GCM.seal(bytes, using: key.files, authenticating: authenticated(chunk))
        var record: [UInt8] = []
        record.reserveCapacity(Self.nonceCount + bytes.count + Self.tagCount)
        record.append(contentsOf: box.nonce)
        record.append(contentsOf: box.ciphertext)
        record.append(contentsOf: box.tag)
        return record
    }

    /// Decrypts a chunk.
    ///
    /// - Parameter path: The name of the file in errors.
    package func decrypt(_ record: UnsafeRawBufferPointer, chunk: Int64, path: String) throws(ChatError) -> Data {
        guard record.count > Self.nonceCount + Self.tagCount else { throw Self.corruptFileError(path) }
        do {
            let box = try AES.GCM.SealedBox(
                nonce: AES.GCM.Nonce(data: record[..<Self.nonceCount]),
                ciphertext: record[Self.nonceCount..<(record.count - Self.tagCount)],
                tag: record[(record.count - Self.tagCount)...])
            return try AES.GCM.open(box, using: key.files, authenticating: authenticated(chunk))
        } catch {
            throw Self.corruptFileError(path)
        }
    }
}
