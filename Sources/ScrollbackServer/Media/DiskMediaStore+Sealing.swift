import Foundation
import ScrollbackEngine
import ScrollbackModel
import StoreFiles

/// Files are sealed, and what was there before is sealed or has its seals taken off, one file after the other.
extension DiskMediaStore {
    /// Writes a blob in the form that it is to have from now on.
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
                        throw ChatError(.internalError, "\(new.path) can't be written: bytes are missing")
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
            throw ChatError(.internalError, "the file can't be sealed", cause: error)
        }
    }

    /// Puts the next blobs into the form that they are to have; who reads one meanwhile goes on in the old one.
    ///
    /// - Returns: the last one that was looked at; nothing at the end.
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
            // It was removed meanwhile.
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

    /// Whether an upload under way is in a form that nothing new has: it will be a blob in that form.
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

    /// The key in a file's header; nothing where there is no such file.
    private func sealingKey(of path: String) throws(ChatError) -> StoreKey.ID? {
        let descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { Foundation.close(descriptor) }
        guard let facts = SealedFile.facts(of: try DurableFile.read(descriptor, at: 0, count: SealedFile.headerCount))
        else { throw SealedFile.damaged(path) }
        return facts.key
    }
}
