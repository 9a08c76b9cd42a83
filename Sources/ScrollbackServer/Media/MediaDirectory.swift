package import Foundation
package import ScrollbackEngine
import ScrollbackModel
import StoreFiles

/// Where files lie under a data directory: `media/blobs/ab/cdef…` by their hash, and `media/uploads` for those under way.
///
/// What is sealed has `.sealed` behind its name.
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

    private static let sealed = ".sealed"

    func url(of upload: UploadID, isSealed: Bool = false) -> URL {
        uploads.appending(component: upload.text + (isSealed ? Self.sealed : ""))
    }

    /// The beginning of a sealed upload's next chunk.
    func tail(of upload: UploadID) -> URL { uploads.appending(component: upload.text + ".tail") }

    /// Every file of an upload.
    func files(of upload: UploadID) -> [URL] { [url(of: upload), url(of: upload, isSealed: true), tail(of: upload)] }

    /// The uploads that have bytes here.
    func listUploads() -> [UploadID] {
        let names = names(in: uploads).map { name in name.split(separator: ".").first.map(String.init) ?? name }
        return Set(names).sorted().compactMap { UploadID($0) }
    }

    /// A name that nothing has yet, for what is to get its own by being renamed.
    func newFile() -> URL { uploads.appending(component: UUID().uuidString + Self.unfinished) }

    private static let unfinished = ".new"

    /// Removes what a server that was ended left under such names.
    func removeUnfinished() {
        for name in names(in: uploads) where name.hasSuffix(Self.unfinished) {
            unlink(uploads.appending(component: name).path)
        }
    }

    /// Makes an upload's file its own: one that has a second name was kept as a blob by a server that ended just before it said so.
    ///
    /// The first bytes are on disk in a copy before they lose the name they had: the blob's stay what they are.
    ///
    /// - Returns: what is open from now on; it was left open where it is an error.
    func separate(_ file: URL, _ kept: Int32, count: Int64) throws(ChatError) -> Int32 {
        let facts = try? FileManager.default.attributesOfItem(atPath: file.path)
        guard facts?[.referenceCount] as? Int ?? 1 > 1 else { return kept }
        let new = newFile()
        let copy = open(new.path, O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL, 0o600)
        guard copy >= 0 else { throw DurableFile.failure("\(new.path) can't be made") }
        do throws(ChatError) {
            try DurableFile.copy(count, from: kept, to: copy, new)
            guard fdatasync(copy) == 0 else { throw DurableFile.failure("\(new.path) can't be written") }
            try DurableFile.rename(new, to: file)
            try DurableFile.sync(uploads)
        } catch {
            close(copy)
            throw error
        }
        close(kept)
        return copy
    }

    /// The folder that a blob lies in with those whose hash begins with the same two digits.
    func folder(of blob: BlobID) -> URL { blobs.appending(component: String(blob.description.prefix(2))) }

    package func url(of blob: BlobID, isSealed: Bool = false) -> URL {
        URL(filePath: path(of: blob, isSealed: isSealed))
    }

    /// As ``url(of:isSealed:)``, for system calls.
    func path(of blob: BlobID, isSealed: Bool = false) -> String {
        let name = blob.description
        return "\(blobsPath)/\(name.prefix(2))/\(name.dropFirst(2))\(isSealed ? Self.sealed : "")"
    }

    /// How many bytes a blob has; nothing where it is not there.
    package func size(of blob: BlobID) -> Int64? {
        length(of: blob, isSealed: true).map { SealedFile.size(ofLength: $0) ?? -1 }
            ?? length(of: blob, isSealed: false)
    }

    /// How long the file is in which a blob lies in one of its forms.
    func length(of blob: BlobID, isSealed: Bool) -> Int64? {
        let descriptor = open(path(of: blob, isSealed: isSealed), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return Int64(lseek(descriptor, 0, SEEK_END))
    }

    /// The form in which a blob lies here, if it does.
    func isSealed(_ blob: BlobID) -> Bool? {
        [true, false].first { length(of: blob, isSealed: $0) != nil }
    }

    /// Makes the folders, on disk under their names.
    ///
    /// - Parameter hasUploads: whether it is a server's, not a backup's.
    func make(hasUploads: Bool = true) throws(ChatError) {
        for folder in [root, blobs] + (hasUploads ? [uploads] : []) { try makeFolder(folder) }
        for first in UInt8.min...UInt8.max { try makeFolder(blobs.appending(component: [first].hexadecimal)) }
        for folder in [blobs, root, root.deletingLastPathComponent()] { try DurableFile.sync(folder) }
    }

    private func makeFolder(_ folder: URL) throws(ChatError) {
        guard mkdir(folder.path, 0o700) == 0 || errno == EEXIST else {
            throw DurableFile.failure("\(folder.path) can't be made")
        }
    }

    /// Leaves messages some room, when files have filled the volume.
    ///
    /// - Throws: `storage-full` where less than a twentieth of it is left, or 1 GiB of a large one.
    func checkRoom() throws(ChatError) {
        guard let facts = try? FileManager.default.attributesOfFileSystem(forPath: root.path),
            let free = facts[.systemFreeSize] as? Int64, let all = facts[.systemSize] as? Int64
        else { return }
        guard free >= min(1 << 30, all / 20) else {
            throw ChatError(.storageFull, "there is no room left for files")
        }
    }

    /// The blobs that are there, in order.
    package func list(after: BlobID?, limit: Int) -> [BlobID] {
        let first = after.map { String($0.description.prefix(2)) } ?? ""
        var found: [BlobID] = []
        for folder in names(in: blobs) where folder >= first && folder.utf8.count == 2 {
            for name in names(in: blobs.appending(component: folder)) {
                let name = name.hasSuffix(Self.sealed) ? String(name.dropLast(Self.sealed.count)) : name
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
