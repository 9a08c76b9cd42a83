package import Foundation
package import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

/// The layout of media files in a data directory.
///
/// Complete files are in `media/blobs/ab/cdef…`, named after their hash. Uploads in progress are in `media/uploads`.
/// Names of encrypted files end with `.sealed`.
package struct MediaDirectory: Sendable {
    package static let name = "media"

    let root: URL
    private let blobsPath: String

    package init(in data: URL) {
        root = data.appending(path: Self.name)
        blobsPath = root.appending(path: "blobs").path
    }

    var uploads: URL { root.appending(path: "uploads") }
    package var blobs: URL { root.appending(path: "blobs") }

    private static let encryptedSuffix = ".sealed"

    func url(of upload: UploadID, isEncrypted: Bool = false) -> URL {
        uploads.appending(component: upload.text + (isEncrypted ? Self.encryptedSuffix : ""))
    }

    /// The file with the incomplete last chunk of an encrypted upload.
    func tail(of upload: UploadID) -> URL { uploads.appending(component: upload.text + ".tail") }

    /// All files of an upload.
    func files(of upload: UploadID) -> [URL] {
        [url(of: upload), url(of: upload, isEncrypted: true), tail(of: upload)]
    }

    /// The uploads that have a file.
    func listUploads() -> [UploadID] {
        let names = names(in: uploads).map { name in name.split(separator: ".").first.map(String.init) ?? name }
        return Set(names).sorted().compactMap { UploadID($0) }
    }

    /// A unique name for a temporary file.
    func newFile() -> URL { uploads.appending(component: UUID().uuidString + Self.temporarySuffix) }

    private static let temporarySuffix = ".new"

    /// Removes temporary files that a previous server process left.
    func removeUnfinished() {
        for name in names(in: uploads) where name.hasSuffix(Self.temporarySuffix) {
            unlink(uploads.appending(component: name).path)
        }
    }

    /// Makes an upload's file independent of a blob.
    ///
    /// A server that stopped right after it stored the blob leaves a file with two names. The file is then replaced by
    /// a copy of its first `count` bytes, so that further writes don't change the blob.
    ///
    /// - Returns: The descriptor to use: `kept`, or the copy's. After an error, `kept` remains open.
    func detach(_ file: URL, _ kept: Int32, count: Int64) throws(ChatError) -> Int32 {
        let facts = try? FileManager.default.attributesOfItem(atPath: file.path)
        guard facts?[.referenceCount] as? Int ?? 1 > 1 else { return kept }
        let new = newFile()
        let copy = open(new.path, O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL, 0o600)
        guard copy >= 0 else { throw DurableFile.failure("Can't create \(new.path)") }
        do throws(ChatError) {
            try DurableFile.copy(count, from: kept, to: copy, new)
            guard fdatasync(copy) == 0 else { throw DurableFile.failure("Can't write \(new.path)") }
            try DurableFile.rename(new, to: file)
            try DurableFile.sync(uploads)
        } catch {
            close(copy)
            throw error
        }
        close(kept)
        return copy
    }

    /// The directory of all blobs whose hashes have the same first two digits.
    func folder(of blob: BlobID) -> URL { blobs.appending(component: String(blob.description.prefix(2))) }

    package func url(of blob: BlobID, isEncrypted: Bool = false) -> URL {
        URL(filePath: path(of: blob, isEncrypted: isEncrypted))
    }

    /// The same as ``url(of:isEncrypted:)`` as a path for system calls.
    func path(of blob: BlobID, isEncrypted: Bool = false) -> String {
        let name = blob.description
        return "\(blobsPath)/\(name.prefix(2))/\(name.dropFirst(2))\(isEncrypted ? Self.encryptedSuffix : "")"
    }

    /// The size of the decrypted blob in bytes, or `nil` if it does not exist.
    package func size(of blob: BlobID) -> Int64? {
        length(of: blob, isEncrypted: true).map { EncryptedFile.size(ofLength: $0) ?? -1 }
            ?? length(of: blob, isEncrypted: false)
    }

    /// The length of a blob's encrypted or unencrypted file, or `nil` if that file does not exist.
    func length(of blob: BlobID, isEncrypted: Bool) -> Int64? {
        let descriptor = open(path(of: blob, isEncrypted: isEncrypted), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return Int64(lseek(descriptor, 0, SEEK_END))
    }

    /// Whether the blob is encrypted, or `nil` if it does not exist.
    func isEncrypted(_ blob: BlobID) -> Bool? {
        [true, false].first { length(of: blob, isEncrypted: $0) != nil }
    }

    /// Creates the directories and syncs them.
    ///
    /// - Parameter hasUploads: Whether to create the directory for uploads, which backups don't have.
    func make(hasUploads: Bool = true) throws(ChatError) {
        for folder in [root, blobs] + (hasUploads ? [uploads] : []) { try makeFolder(folder) }
        for first in UInt8.min...UInt8.max { try makeFolder(blobs.appending(component: [first].hexadecimal)) }
        for folder in [blobs, root, root.deletingLastPathComponent()] { try DurableFile.sync(folder) }
    }

    /// Creates only the directory for uploads.
    func makeUploads() throws(ChatError) {
        for folder in [root, uploads] { try makeFolder(folder) }
    }

    private func makeFolder(_ folder: URL) throws(ChatError) {
        guard mkdir(folder.path, 0o700) == 0 || errno == EEXIST else {
            throw DurableFile.failure("Can't create \(folder.path)")
        }
    }

    /// Reserves disk space for messages when media files have filled the volume.
    ///
    /// - Throws: `storage-full` if less than 5 % of the volume and less than 1 GiB are free.
    func checkFreeSpace() throws(ChatError) {
        guard let facts = try? FileManager.default.attributesOfFileSystem(forPath: root.path),
            let free = facts[.systemFreeSize] as? Int64, let all = facts[.systemSize] as? Int64
        else { return }
        guard free >= min(1 << 30, all / 20) else {
            throw ChatError(.storageFull, "The server has no disk space left for files.")
        }
    }

    /// The stored blobs in ascending order.
    package func list(after: BlobID?, limit: Int) -> [BlobID] {
        let first = after.map { String($0.description.prefix(2)) } ?? ""
        var found: [BlobID] = []
        for folder in names(in: blobs) where folder >= first && folder.utf8.count == 2 {
            for name in names(in: blobs.appending(component: folder)) {
                let name =
                    name.hasSuffix(Self.encryptedSuffix) ? String(name.dropLast(Self.encryptedSuffix.count)) : name
                guard let blob = BlobID(hexadecimal: folder + name), after.map({ $0 < blob }) ?? true,
                    found.last != blob
                else { continue }
                found.append(blob)
                if found.count == limit { return found }
            }
        }
        return found
    }

    func names(in folder: URL) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
    }
}
