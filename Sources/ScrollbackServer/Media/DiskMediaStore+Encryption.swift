import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

/// Encryption of media files, and re-encryption of existing ones after the keys change.
extension DiskMediaStore: ReencryptableMediaStore {
    /// Writes a blob, encrypted with `key` or, if `key` is `nil`, unencrypted.
    func write(_ bytes: [UInt8], as blob: BlobID, encryptedWith key: StoreKey?) throws(ChatError) {
        try write(blob, size: Int64(bytes.count), encryptedWith: key) { (offset, count) throws(ChatError) in
            Array(bytes[Int(offset)..<Int(offset) + count])
        }
    }

    private func write(
        _ blob: BlobID, size: Int64, encryptedWith key: StoreKey?,
        from read: (_ offset: Int64, _ count: Int) throws(ChatError) -> [UInt8]
    ) throws(ChatError) {
        let new = directory.newFile()
        do throws(ChatError) {
            try DurableFile.write(to: new) { (output) throws(ChatError) in
                let encryptedFile = key.map { EncryptedFile(encryptedWith: $0) }
                if let encryptedFile {
                    let header = try Self.encrypting { try encryptedFile.header(name: blob.description, size: size) }
                    try DurableFile.write(header, to: output, at: 0, new)
                }
                var offset: Int64 = 0
                while offset < size {
                    let count = Int(min(Int64(EncryptedFile.chunkSize), size - offset))
                    let bytes = try read(offset, count)
                    guard bytes.count == count else {
                        throw ChatError(.internalError, "Can't write \(new.path), because its source ended early.")
                    }
                    if let encryptedFile {
                        let chunk = offset / Int64(EncryptedFile.chunkSize)
                        let record = try Self.encrypting {
                            try bytes.withUnsafeBytes { try encryptedFile.encrypt($0, chunk: chunk) }
                        }
                        try DurableFile.write(record, to: output, at: EncryptedFile.offset(ofChunk: chunk), new)
                    } else {
                        try DurableFile.write(bytes, to: output, at: offset, new)
                    }
                    offset += Int64(count)
                }
            }
            try DurableFile.rename(new, to: directory.url(of: blob, isEncrypted: key != nil))
        } catch {
            unlink(new.path)
            throw error
        }
    }

    static func encrypting(_ body: () throws -> [UInt8]) throws(ChatError) -> [UInt8] {
        do {
            return try body()
        } catch {
            throw ChatError(.internalError, "Can't encrypt the file.", cause: error)
        }
    }

    /// Open blobs can still be read.
    func reencryptBlobs(after: BlobID?, limit: Int) async throws(ChatError) -> BlobID? {
        try await threads.blocking { [self] () throws(ChatError) in
            let blobs = directory.list(after: after, limit: limit)
            for blob in blobs { try reencrypt(blob) }
            return blobs.count == limit ? blobs.last : nil
        }
    }

    private func reencrypt(_ blob: BlobID) throws(ChatError) {
        guard
            try keyID(of: directory.path(of: blob, isEncrypted: true)) != keys?.newest?.id
                || directory.length(of: blob, isEncrypted: false) != nil
        else { return }
        let reader: BlobReader
        do throws(ChatError) {
            reader = try BlobReader(blob, in: directory, keys: keys)
        } catch  where error.code == .unknownMedia {
            // The blob was removed in the meantime.
            return
        }
        defer { reader.close() }
        let target = keys?.newest
        if try keyID(of: directory.path(of: blob, isEncrypted: true)) != target?.id || target == nil {
            try directory.checkFreeSpace()
            try write(blob, size: reader.size, encryptedWith: target) { (offset, count) throws(ChatError) in
                try reader.read(at: offset, count: count)
            }
            try DurableFile.sync(directory.folder(of: blob))
        }
        try Self.remove(directory.url(of: blob, isEncrypted: target == nil))
    }

    /// The blob of an upload will have the form of the upload.
    func hasUploadsWithOlderKey() async throws(ChatError) -> Bool {
        try await threads.blocking { [self] () throws(ChatError) in
            for upload in directory.listUploads() {
                let path = directory.url(of: upload, isEncrypted: true).path
                if try keyID(of: path) != keys?.newest?.id { return true }
                if keys?.newest != nil, access(directory.url(of: upload).path, F_OK) == 0 { return true }
            }
            return false
        }
    }

    /// Returns the key ID in a file's header, or `nil` if the file does not exist.
    private func keyID(of path: String) throws(ChatError) -> StoreKey.ID? {
        let descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { Foundation.close(descriptor) }
        guard
            let facts = EncryptedFile.headerFields(
                of: try DurableFile.read(descriptor, at: 0, count: EncryptedFile.headerSize))
        else { throw EncryptedFile.corruptFileError(path) }
        return facts.key
    }
}
