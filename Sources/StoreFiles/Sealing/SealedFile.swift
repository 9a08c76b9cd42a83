import Crypto
package import Foundation
package import ScrollbackModel

/// The form in which a store keeps a file that is sealed: any part of it can be read without the rest.
///
/// | bytes | what |
/// |---|---|
/// | 0–3 | `SBF1` |
/// | 4–7 | the key's id |
/// | 8–23 | 16 random bytes that each chunk is bound to |
/// | 24–31 | how many bytes were sealed, big-endian |
/// | 32–59 | a nonce and a tag that bind all this to the file's name |
/// | 60–63 | 0 |
/// | from 64 | chunks: a nonce (12 bytes), 64 KiB sealed with AES-256-GCM, a tag (16 bytes); the last may be shorter |
///
/// A chunk is bound to its file and its number, the header to the file's name and length: a chunk that was altered, left out or
/// moved does not open, nor a file that was cut or has another's name.
package struct SealedFile: Sendable {
    /// Bytes of a file in a chunk.
    package static let chunkCount = 65_536
    /// Bytes before the first chunk.
    package static let headerCount = 64
    /// Bytes of a whole chunk when it is sealed.
    package static let recordCount = nonceCount + chunkCount + tagCount
    private static let nonceCount = 12
    private static let tagCount = 16
    private static let magic = [UInt8]("SBF1".utf8)

    package let key: StoreKey
    private let id: UUID

    /// A new file's.
    package init(sealedWith key: StoreKey) {
        self.key = key
        id = UUID()
    }

    private init(_ key: StoreKey, _ id: UUID) {
        self.key = key
        self.id = id
    }

    // MARK: Sizes

    /// How long a file is when it is sealed.
    package static func length(of size: Int64) -> Int64 {
        let (chunks, rest) = (size / Int64(chunkCount), size % Int64(chunkCount))
        return Int64(headerCount) + chunks * Int64(recordCount) + (rest > 0 ? rest + Int64(nonceCount + tagCount) : 0)
    }

    /// How many bytes a sealed file of a length holds; nothing where there is none of that length.
    package static func size(ofLength length: Int64) -> Int64? {
        let sealed = length - Int64(headerCount)
        guard sealed >= 0 else { return nil }
        let (chunks, rest) = (sealed / Int64(recordCount), sealed % Int64(recordCount))
        guard rest == 0 || rest > Int64(nonceCount + tagCount) else { return nil }
        return chunks * Int64(chunkCount) + (rest == 0 ? 0 : rest - Int64(nonceCount + tagCount))
    }

    /// Where a chunk begins in a sealed file.
    package static func place(of chunk: Int64) -> Int64 { Int64(headerCount) + chunk * Int64(recordCount) }

    // MARK: The header

    /// - Parameters:
    ///   - name: of the file; under another it does not open.
    ///   - size: how many bytes are sealed.
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

    /// The key that a header names, and the size; nothing for what is no header.
    package static func facts(of header: [UInt8]) -> (key: StoreKey.ID, size: Int64)? {
        guard header.count == headerCount, header.starts(with: magic) else { return nil }
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
    ///   - name: of the file; without it, a header of any name is taken.
    ///   - length: of the whole file; without it, it is not compared.
    /// - Throws: `internal-error` naming the file, or the key that it takes.
    package init(
        header: [UInt8], name: String?, length: Int64?, path: String, keys: StoreKeys?
    ) throws(ChatError) {
        guard let facts = Self.facts(of: header) else { throw Self.damaged(path) }
        guard let key = keys?[facts.key] else {
            throw ChatError(
                .internalError,
                "\(path) is sealed with the key \(facts.key), which is not among the keys that were given")
        }
        if let length, length != Self.length(of: facts.size) { throw Self.damaged(path) }
        if let name {
            do {
                let box = try AES.GCM.SealedBox(
                    nonce: AES.GCM.Nonce(data: header[32..<44]), ciphertext: [UInt8](), tag: header[44..<60])
                _ = try AES.GCM.open(
                    box, using: key.files, authenticating: Array(header[0..<32]) + Array(name.utf8))
            } catch {
                throw Self.damaged(path)
            }
        }
        let id = header.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 8, as: uuid_t.self) }
        self.init(key, UUID(uuid: id))
    }

    package static func damaged(_ path: String) -> ChatError {
        ChatError(
            .internalError,
            "\(path) does not open: it was altered or cut, or is another file under this name; restore it from a backup"
        )
    }

    // MARK: Chunks

    private func authenticated(_ chunk: Int64) -> [UInt8] {
        withUnsafeBytes(of: id.uuid) { Array($0) } + withUnsafeBytes(of: chunk.bigEndian) { Array($0) }
    }

    package func seal(_ bytes: UnsafeRawBufferPointer, chunk: Int64) throws -> [UInt8] {
        let box = try AES.GCM.seal(bytes, using: key.files, authenticating: authenticated(chunk))
        var record: [UInt8] = []
        record.reserveCapacity(Self.nonceCount + bytes.count + Self.tagCount)
        record.append(contentsOf: box.nonce)
        record.append(contentsOf: box.ciphertext)
        record.append(contentsOf: box.tag)
        return record
    }

    /// - Parameter path: names the file in the error.
    package func open(_ record: UnsafeRawBufferPointer, chunk: Int64, path: String) throws(ChatError) -> Data {
        guard record.count > Self.nonceCount + Self.tagCount else { throw Self.damaged(path) }
        do {
            let box = try AES.GCM.SealedBox(
                nonce: AES.GCM.Nonce(data: record[..<Self.nonceCount]),
                ciphertext: record[Self.nonceCount..<(record.count - Self.tagCount)],
                tag: record[(record.count - Self.tagCount)...])
            return try AES.GCM.open(box, using: key.files, authenticating: authenticated(chunk))
        } catch {
            throw Self.damaged(path)
        }
    }
}
