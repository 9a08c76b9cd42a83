import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import StoreFiles

/// Media files in backups. Blobs have the same names as in the data directory: their hashes.
extension Backup {
    /// Creates hard links to all blobs, so that the backup can copy them even if the server removes them from the data
    /// directory.
    ///
    /// - Returns: The directory with the links: the backup if it is on the same volume, otherwise a temporary directory
    ///   next to the blobs.
    static func holdMedia(of data: URL, in partial: URL) throws(ChatError) -> MediaDirectory {
        let source = MediaDirectory(in: data)
        // Remove links of an interrupted backup.
        for name in source.names(in: source.root) where name.hasPrefix(held) {
            try? FileManager.default.removeItem(at: source.root.appending(component: name))
        }
        let target = MediaDirectory(in: partial)
        guard let first = source.list(after: nil, limit: 1).first else { return target }
        try target.make(hasUploads: false)
        let hold: MediaDirectory
        let isSealed = source.isSealed(first) ?? false
        let (here, there) = (source.path(of: first, isSealed: isSealed), target.path(of: first, isSealed: isSealed))
        if link(here, there) != 0, errno == EXDEV {
            let folder = source.root.appending(component: held + UUID().uuidString)
            guard mkdir(folder.path, 0o700) == 0 else { throw DurableFile.failure("Can't create \(folder.path)") }
            hold = MediaDirectory(in: folder)
            try hold.make(hasUploads: false)
        } else {
            hold = target
        }
        var after: BlobID?
        while case let blobs = source.list(after: after, limit: 1000), let last = blobs.last {
            after = last
            // If the file system has no hard links, blobs that the server removes during the backup are missing.
            for blob in blobs {
                // Try both forms, because the server may be encrypting or decrypting the blob.
                for isSealed in [true, false] {
                    link(source.path(of: blob, isSealed: isSealed), hold.path(of: blob, isSealed: isSealed))
                }
            }
        }
        return hold
    }

    private static let held = "backup-"

    /// Puts the blobs that the backup's store refers to into the backup and removes the others.
    ///
    /// A blob that is missing in the data directory is also missing in the backup. The command `verify` reports such
    /// blobs.
    ///
    /// - Parameter hold: The directory that ``holdMedia(of:in:)`` returned.
    static func takeMedia(
        of data: URL, from hold: MediaDirectory, in partial: URL, referredToBy store: URL
    ) throws(ChatError) {
        let (source, target) = (MediaDirectory(in: data), MediaDirectory(in: partial))
        defer {
            if hold.root != target.root {
                try? FileManager.default.removeItem(at: hold.root.deletingLastPathComponent())
            }
        }
        let wanted = try SQLiteStore.blobs(of: store)
        guard !wanted.isEmpty else {
            try? FileManager.default.removeItem(at: target.root)
            return
        }
        try target.make(hasUploads: false)
        let known = Set(wanted)
        for blob in target.list(after: nil, limit: .max) where !known.contains(blob) {
            for isSealed in [true, false] { unlink(target.path(of: blob, isSealed: isSealed)) }
        }
        for blob in wanted where target.size(of: blob) == nil {
            // Newer blobs have no link in `hold`, but the server does not remove a blob during its first day.
            guard let place = [hold, source].first(where: { $0.size(of: blob) != nil }),
                let isSealed = place.isSealed(blob)
            else { continue }
            let (here, there) = (place.url(of: blob, isSealed: isSealed), target.url(of: blob, isSealed: isSealed))
            if link(here.path, there.path) == 0 { continue }
            _ = try DurableFile.copy(here, to: there)
        }
        try syncFolders(of: target)
    }

    /// Copies the blobs of a backup into a data directory and verifies their hashes.
    static func restoreMedia(
        from directory: URL, to data: URL, keys: StoreKeys?
    ) throws(ChatError) {
        let (source, target) = (MediaDirectory(in: directory), MediaDirectory(in: data))
        guard FileManager.default.fileExists(atPath: source.blobs.path) else { return }
        try target.make()
        for blob in source.list(after: nil, limit: .max) {
            let isSealed = source.isSealed(blob) ?? false
            let (here, there) = (source.url(of: blob, isSealed: isSealed), target.url(of: blob, isSealed: isSealed))
            // The existing file may be a hard link to the backup's blob, so don't overwrite its bytes.
            unlink(there.path)
            let copied = try DurableFile.copy(here, to: there)
            guard isSealed else {
                try check(copied.sha256, blob, here)
                continue
            }
            try checkSealed(blob, in: target, keys, here)
        }
        try syncFolders(of: target)
    }

    /// Verifies the hashes of the blobs in a backup.
    static func checkMedia(_ directory: URL, keys: StoreKeys?) throws(ChatError) {
        let media = MediaDirectory(in: directory)
        for blob in media.list(after: nil, limit: .max) {
            guard media.isSealed(blob) == true else {
                try check(try DurableFile.read(media.url(of: blob)).sha256, blob, media.url(of: blob))
                continue
            }
            try checkSealed(blob, in: media, keys, media.url(of: blob, isSealed: true))
        }
    }

    /// - Parameter file: The file that errors name.
    private static func checkSealed(
        _ blob: BlobID, in media: MediaDirectory, _ keys: StoreKeys?, _ file: URL
    ) throws(ChatError) {
        let reader = try BlobReader(blob, in: media, keys: keys, named: file.path)
        defer { reader.close() }
        var hasher = BlobHasher()
        try reader.readAll { (bytes) throws(ChatError) in hasher.update(bytes) }
        try check(hasher.finish().description, blob, file)
    }

    private static func check(_ hash: String, _ blob: BlobID, _ file: URL) throws(ChatError) {
        guard hash == blob.description else {
            throw .invalidParameter("directory", "can't be restored: \(file.path) changed after the backup")
        }
    }

    private static func syncFolders(of media: MediaDirectory) throws(ChatError) {
        for name in media.names(in: media.blobs) { try DurableFile.sync(media.blobs.appending(component: name)) }
        try DurableFile.sync(media.blobs)
    }
}
