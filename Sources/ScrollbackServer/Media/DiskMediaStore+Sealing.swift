import Foundation
import ScrollbackEngine
import ScrollbackModel
import StoreFiles

/// Encryption of media files, and re-encryption of existing ones after the keys change.
extension DiskMediaStore {
    /// Writes a blob, encrypted with `key` or, if `key` is `nil`, unencrypted.
    func write(_ bytes: [UInt8], as blob: BlobID, sealedWith key: StoreKey?) throws(ChatError) {
        try write(blob, size: Int64(bytes.count), sealedWith: key) { (offset, count) throws(ChatError) in
            Array(bytes[Int(offset)..<Int(offset) + count])
        }
    }

    private func write(
        _ blob: BlobID, size: Int64, sealedWith key: StoreKey?,
        from read: (_ offset: Int64, _ count: Int) throws(ChatError) -> [UInt8]
    ) throws(ChatError) {
        let new = directory.newFile()
        do throws(ChatError) {
            try DurableFile.write(to: new) { (output) throws(ChatError) in
                let sealed = key.map { SealedFile(sealedWith: $0) }
                if let sealed {
                    let header = try Self.sealing { try sealed.header(name: blob.description, size: size) }
                    try DurableFile.write(header, to: output, at: 0, new)
                }
                var offset: Int64 = 0
                while offset < size {
                    let count = Int(min(Int64(SealedFile.chunkCount), size - offset))
                    let bytes = try read(offset, count)
                    guard bytes.count == count else {
                        throw ChatError(.internalError, "Can't write \(new.path), because its source ended early.")
                    }
                    if let sealed {
                        let chunk = offset / Int64(SealedFile.chunkCount)
                        let record = try Self.sealing {
                            try bytes.withUnsafeBytes { try sealed.seal($0, chunk: chunk) }
                        }
                        try DurableFile.write(record, to: output, at: SealedFile.place(of: chunk), new)
                    } else {
                        try DurableFile.write(bytes, to: output, at: offset, new)
                    }
                    offset += Int64(count)
                }
            }
            try DurableFile.rename(new, to: directory.url(of: blob, isSealed: key != nil))
        } catch {
            unlink(new.path)
            throw error
        }
    }

    static func sealing(_ body: () throws -> [UInt8]) throws(ChatError) -> [UInt8] {
        do {
            return try body()
        } catch {
            throw ChatError(.internalError, "Can't encrypt the file.", cause: error)
        }
    }

    /// Re-encrypts the next blobs with the newest key, or decrypts them if encryption is off.
    ///
    /// Open blobs can still be read.
    ///
    /// - Returns: The last processed blob, or `nil` at the end.
    func sealSome(after: BlobID?, limit: Int = 50) async throws(ChatError) -> BlobID? {
        try await threads.blocking { [self] () throws(ChatError) in
            let blobs = directory.list(after: after, limit: limit)
            for blob in blobs { try seal(blob) }
            return blobs.count == limit ? blobs.last : nil
        }
    }

    private func seal(_ blob: BlobID) throws(ChatError) {
        guard
            try sealingKey(of: directory.path(of: blob, isSealed: true)) != keys?.newest?.id
                || directory.length(of: blob, isSealed: false) != nil
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
        if try sealingKey(of: directory.path(of: blob, isSealed: true)) != target?.id || target == nil {
            try directory.checkRoom()
            try write(blob, size: reader.size, sealedWith: target) { (offset, count) throws(ChatError) in
                try reader.read(at: offset, count: count)
            }
            try DurableFile.sync(directory.folder(of: blob))
        }
        try Self.remove(directory.url(of: blob, isSealed: target == nil))
    }

    /// Whether an upload in progress uses an older key or form.
    ///
    /// Its blob will have the same form.
    func hasOlderUploads() async throws(ChatError) -> Bool {
        try await threads.blocking { [self] () throws(ChatError) in
            for upload in directory.listUploads() {
                let sealed = directory.url(of: upload, isSealed: true).path
                if try sealingKey(of: sealed) != keys?.newest?.id { return true }
                if keys?.newest != nil, access(directory.url(of: upload).path, F_OK) == 0 { return true }
            }
            return false
        }
    }

    /// Returns the key ID in a file's header, or `nil` if the file does not exist.
    private func sealingKey(of path: String) throws(ChatError) -> StoreKey.ID? {
        let descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { Foundation.close(descriptor) }
        guard let facts = SealedFile.facts(of: try DurableFile.read(descriptor, at: 0, count: SealedFile.headerCount))
        else { throw SealedFile.damaged(path) }
        return facts.key
    }
}
