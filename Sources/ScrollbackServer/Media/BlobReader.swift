import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

/// An open blob, encrypted or not.
///
/// The caller must close it.
struct BlobReader: Sendable {
    /// The size of the decrypted blob in bytes.
    let size: Int64
    private let descriptor: Int32
    private let path: String
    /// Decrypts the chunks if the blob is encrypted.
    private let encryptedFile: EncryptedFile?

    /// Opens a blob.
    ///
    /// - Parameter name: The path that errors contain, or `nil` for the actual path.
    /// - Throws: `unknown-media` if the blob does not exist; `internal-error` if it can't be read or decrypted.
    init(_ blob: BlobID, in directory: MediaDirectory, keys: StoreKeys?, named name: String? = nil) throws(ChatError) {
        for isEncrypted in [true, false] {
            let path = directory.path(of: blob, isEncrypted: isEncrypted)
            let descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC)
            if descriptor < 0 {
                guard errno == ENOENT else { throw DurableFile.failure("Can't open \(path)") }
                continue
            }
            do throws(ChatError) {
                try self.init(descriptor, name ?? path, encryptedAs: isEncrypted ? blob.description : nil, keys: keys)
                return
            } catch {
                Foundation.close(descriptor)
                throw error
            }
        }
        throw ChatError(.unknownMedia, "The content of the file does not exist anymore.")
    }

    private init(
        _ descriptor: Int32, _ path: String, encryptedAs name: String?, keys: StoreKeys?
    ) throws(ChatError) {
        self.descriptor = descriptor
        self.path = path
        let length = max(0, Int64(lseek(descriptor, 0, SEEK_END)))
        guard let name else {
            (size, encryptedFile) = (length, nil)
            return
        }
        let header = try DurableFile.read(descriptor, at: 0, count: EncryptedFile.headerSize)
        encryptedFile = try EncryptedFile(header: header, name: name, length: length, path: path, keys: keys)
        size = EncryptedFile.size(ofLength: length) ?? 0
    }

    func close() { Foundation.close(descriptor) }

    /// Reads up to `count` bytes at an offset.
    ///
    /// Returns fewer bytes at the end of the blob.
    func read(at offset: Int64, count: Int) throws(ChatError) -> [UInt8] {
        guard let encryptedFile else { return try DurableFile.read(descriptor, at: offset, count: count) }
        let end = min(size, offset + Int64(count))
        var bytes: [UInt8] = []
        guard offset < end else { return bytes }
        bytes.reserveCapacity(Int(end - offset))
        let chunkSize = Int64(EncryptedFile.chunkSize)
        for chunk in (offset / chunkSize)...((end - 1) / chunkSize) {
            let opened = try encryptedFile.chunk(chunk, from: descriptor, path)
            let first = chunk * chunkSize
            guard first + Int64(opened.count) >= min(end, first + chunkSize) else {
                throw EncryptedFile.corruptFileError(path)
            }
            bytes += opened.dropFirst(Int(max(0, offset - first))).prefix(Int(end - max(offset, first)))
        }
        return bytes
    }

    /// Reads the whole blob in parts.
    func readAll(_ body: (UnsafeRawBufferPointer) throws(ChatError) -> Void) throws(ChatError) {
        var offset: Int64 = 0
        while offset < size {
            let bytes = try read(at: offset, count: 16 * EncryptedFile.chunkSize)
            guard !bytes.isEmpty else { throw ChatError(.internalError, "\(path) was truncated while it was read.") }
            let outcome = bytes.withUnsafeBytes { bytes in
                Result { () throws(ChatError) in try body(bytes) }
            }
            try outcome.get()
            offset += Int64(bytes.count)
        }
    }
}

extension EncryptedFile {
    /// Reads and decrypts a chunk of an open file.
    func chunk(_ chunk: Int64, from descriptor: Int32, _ path: String) throws(ChatError) -> Data {
        let record = try DurableFile.read(descriptor, at: Self.offset(ofChunk: chunk), count: Self.encryptedChunkSize)
        let opened = record.withUnsafeBytes { record in
            Result { () throws(ChatError) in try decrypt(record, chunk: chunk, path: path) }
        }
        return try opened.get()
    }
}

/// A blob that is being read.
final class DiskBlob: BlobFile {
    private let reader: BlobReader
    private let threads: FileThreads

    init(_ reader: BlobReader, _ threads: FileThreads) {
        self.reader = reader
        self.threads = threads
    }

    deinit { reader.close() }

    var size: Int64 { reader.size }

    func read(at offset: Int64, count: Int) async throws(ChatError) -> [UInt8] {
        // Capturing `self` keeps the descriptor open.
        try await threads.blocking { [self] () throws(ChatError) in try reader.read(at: offset, count: count) }
    }
}
