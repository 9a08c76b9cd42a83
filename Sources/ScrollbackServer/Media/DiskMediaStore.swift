import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

/// Media files on disk.
///
/// Operations run on threads of their own, which users share fairly.
final class DiskMediaStore: MediaStore {
    let directory: MediaDirectory
    let threads: FileThreads
    /// The storage encryption keys, or `nil` for no encryption.
    let keys: StoreKeys?

    /// Opens the media store and creates its directories.
    ///
    /// - Parameter data: The server's data directory.
    init(in data: URL, threads: FileThreads, keys: StoreKeys? = nil) throws(ChatError) {
        self.keys = keys
        directory = MediaDirectory(in: data)
        self.threads = threads
        try directory.make()
        directory.removeUnfinished()
    }

    private init(_ store: DiskMediaStore, for owner: WorkOwner) {
        directory = store.directory
        threads = store.threads.serving(owner)
        keys = store.keys
    }

    func serving(_ owner: WorkOwner) -> any MediaStore { DiskMediaStore(self, for: owner) }

    func open(_ upload: UploadID, at offset: Int64) async throws(ChatError) -> any UploadFile {
        try await threads.blocking { [directory, threads, keys] () throws(ChatError) -> any UploadFile in
            if offset == 0, let key = keys?.newest {
                return try EncryptedUpload(new: upload, encryptedWith: key, directory, threads)
            }
            let isEncrypted = offset > 0 && access(directory.url(of: upload, isEncrypted: true).path, F_OK) == 0
            guard isEncrypted else { return try DiskUpload(upload, at: offset, directory, threads) }
            return try EncryptedUpload(upload, at: offset, keys: keys, directory, threads)
        }
    }

    func remove(_ upload: UploadID) async throws(ChatError) {
        try await threads.blocking { [directory] () throws(ChatError) in
            for file in directory.files(of: upload) { try Self.remove(file) }
        }
    }

    func uploads() async throws(ChatError) -> [UploadID] {
        try await threads.blocking { [directory] () throws(ChatError) in
            directory.listUploads()
        }
    }

    func put(_ bytes: [UInt8], as blob: BlobID) async throws(ChatError) {
        try await threads.begin { [self] () throws(ChatError) in
            if directory.size(of: blob) != Int64(bytes.count) {
                try directory.checkFreeSpace()
                try write(bytes, as: blob, encryptedWith: keys?.newest)
            }
            // A concurrent writer may not have synced the directory yet.
            try DurableFile.sync(directory.folder(of: blob))
        }
    }

    func open(_ blob: BlobID) async throws(ChatError) -> any BlobFile {
        try await threads.begin { [directory, threads, keys] () throws(ChatError) in
            DiskBlob(try BlobReader(blob, in: directory, keys: keys), threads)
        }
    }

    func read(_ blob: BlobID, at offset: Int64, count: Int) async throws(ChatError) -> [UInt8] {
        try await threads.begin { [self] () throws(ChatError) in try bytes(of: blob, at: offset, count: count) }
    }

    func readNow(_ blob: BlobID, at offset: Int64, count: Int) throws(ChatError) -> [UInt8]? {
        do throws(ChatError) {
            return try bytes(of: blob, at: offset, count: count)
        } catch {
            throw error.withoutPaths
        }
    }

    private func bytes(of blob: BlobID, at offset: Int64, count: Int) throws(ChatError) -> [UInt8] {
        let reader = try BlobReader(blob, in: directory, keys: keys)
        defer { reader.close() }
        return try reader.read(at: offset, count: count)
    }

    func blobs(after: BlobID?, limit: Int) async throws(ChatError) -> [BlobID] {
        try await threads.blocking { [directory] () throws(ChatError) in directory.list(after: after, limit: limit) }
    }

    func remove(_ blob: BlobID) async throws(ChatError) {
        try await threads.blocking { [directory] () throws(ChatError) in
            for isEncrypted in [true, false] { try Self.remove(directory.url(of: blob, isEncrypted: isEncrypted)) }
        }
    }

    static func remove(_ file: URL) throws(ChatError) {
        guard unlink(file.path) == 0 || errno == ENOENT else {
            throw DurableFile.failure("Can't remove \(file.path)")
        }
    }
}
