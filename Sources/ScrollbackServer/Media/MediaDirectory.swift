package import Foundation
package import ScrollbackEngine
import ScrollbackModel

/// Where files lie under a data directory: `media/blobs/ab/cdef…` by their hash, and `media/uploads` for those under way.
package struct MediaDirectory: Sendable {
    package static let name = "media"

    let root: URL

    package init(in data: URL) {
        root = data.appending(path: Self.name)
    }

    var uploads: URL { root.appending(path: "uploads") }
    package var blobs: URL { root.appending(path: "blobs") }

    func url(of upload: UploadID) -> URL { uploads.appending(component: upload.text) }

    /// The folder that a blob lies in with those whose hash begins with the same two digits.
    func folder(of blob: BlobID) -> URL { blobs.appending(component: String(blob.description.prefix(2))) }

    package func url(of blob: BlobID) -> URL {
        folder(of: blob).appending(component: String(blob.description.dropFirst(2)))
    }

    /// How many bytes a blob has; nothing where it is not there.
    package func size(of blob: BlobID) -> Int64? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: url(of: blob).path)
        return (attributes?[.size] as? NSNumber)?.int64Value
    }

    /// Makes the folders, on disk under their names.
    ///
    /// - Parameter hasUploads: whether it is a server's, not a backup's.
    func make(hasUploads: Bool = true) throws(ChatError) {
        for folder in [root, blobs] + (hasUploads ? [uploads] : []) { try makeFolder(folder) }
        try DurableFile.sync(root)
        try DurableFile.sync(root.deletingLastPathComponent())
    }

    /// - Returns: whether it was made now.
    @discardableResult
    func makeFolder(_ folder: URL) throws(ChatError) -> Bool {
        if mkdir(folder.path, 0o700) == 0 { return true }
        guard errno == EEXIST else { throw DurableFile.failure("\(folder.path) can't be made") }
        return false
    }

    /// The blobs that are there, in order.
    package func list(after: BlobID?, limit: Int) -> [BlobID] {
        let first = after.map { String($0.description.prefix(2)) } ?? ""
        var found: [BlobID] = []
        for folder in names(in: blobs) where folder >= first && folder.utf8.count == 2 {
            for name in names(in: blobs.appending(component: folder)) {
                guard let blob = BlobID(hexadecimal: folder + name), after.map({ $0 < blob }) ?? true else { continue }
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
