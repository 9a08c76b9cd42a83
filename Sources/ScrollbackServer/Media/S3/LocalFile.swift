import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

/// A local file with bytes on their way to or from the bucket.
struct LocalFile: Sendable {
    /// The name of the file in the directory of uploads.
    let id: UploadID
    let upload: any LocalUpload
}

extension S3MediaStore {
    /// The number of bytes that are copied at a time.
    private static let stepBytes = 512 << 10
    /// The size above which objects are stored in parts, and the size of a part.
    private static let partBytes: Int64 = 16 << 20

    /// Creates an empty local file, which is encrypted if the server has keys.
    func makeLocalFile() async throws(ChatError) -> LocalFile {
        try await threads.blocking { [directory, threads, keys] () throws(ChatError) in
            let id = UploadID()
            guard let key = keys?.newest else {
                return LocalFile(id: id, upload: try DiskUpload(id, at: 0, directory, threads))
            }
            return LocalFile(
                id: id, upload: try EncryptedUpload(new: id, encryptedWith: key, directory, threads))
        }
    }

    /// Closes and removes a local file.
    func remove(_ file: LocalFile) async {
        await file.upload.close()
        // A file that can't be removed is removed when the server starts again.
        try? await threads.blocking { [directory] () throws(ChatError) in
            for url in directory.files(of: file.id) { try DiskMediaStore.remove(url) }
        }
    }

    /// Appends a part of a local file to another one.
    func copy(_ file: LocalFile, at offset: Int64, count: Int64, into other: LocalFile) async throws(ChatError) {
        var place: Int64 = 0
        while place < count {
            let (from, step) = (offset + place, Int(min(Int64(Self.stepBytes), count - place)))
            let bytes = try await threads.blocking { () throws(ChatError) in
                try file.upload.read(at: from, count: step)
            }
            guard !bytes.isEmpty else { throw ChatError(.internalError, "The file ended early.").withoutPaths }
            try await other.upload.append(bytes)
            place += Int64(bytes.count)
        }
    }

    /// Appends an object to a local file.
    func copy(_ object: S3Object, count: Int64, into file: LocalFile) async throws(ChatError) {
        var place: Int64 = 0
        while place < count {
            let bytes = try await object.read(at: place, count: Int(min(Int64(Self.stepBytes), count - place)))
            guard !bytes.isEmpty else { throw ChatError(.internalError, "The object ended early.").withoutPaths }
            try await file.upload.append(bytes)
            place += Int64(bytes.count)
        }
    }

    /// Stores a local file as an object.
    ///
    /// - Parameter name: The name under which an encrypted object can be decrypted.
    func put(_ file: LocalFile, named name: String, as key: String) async throws(ChatError) {
        let (url, length) = try await threads.blocking { () throws(ChatError) in
            try file.upload.complete(named: name)
        }
        let part = FilePart(file: url, offset: 0, count: length, threads: threads)
        if length <= Self.partBytes {
            try await client.put(.file(part), as: key)
        } else {
            try await client.putParts(of: part, partBytes: Self.partBytes, as: key)
        }
    }
}
