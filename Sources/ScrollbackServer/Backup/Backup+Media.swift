import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import SQLiteSupport

/// Media files in backups. Blobs have the same names as in the data directory: their hashes.
extension Backup {
    /// Creates hard links to all blobs, so that the backup can copy them even if the server removes them from the data
    /// directory.
    ///
    /// - Returns: The directory with the links: the backup if it is on the same volume, otherwise a temporary directory
    ///   next to the blobs. Its lock keeps other backups from removing it.
    static func linkMedia(
        of data: URL, in partial: URL
    ) throws(ChatError) -> (links: MediaDirectory, lock: DirectoryLock?) {
        let source = MediaDirectory(in: data)
        // Remove links of interrupted backups.
        for name in source.names(in: source.root) where name.hasPrefix(linkDirectoryPrefix) {
            let folder = source.root.appending(component: name)
            if !DirectoryLock.isHeld(folder) { try? FileManager.default.removeItem(at: folder) }
        }
        let target = MediaDirectory(in: partial)
        guard let first = source.list(after: nil, limit: 1).first else { return (target, nil) }
        try target.make(hasUploads: false)
        let links: MediaDirectory
        var lock: DirectoryLock?
        let isEncrypted = source.isEncrypted(first) ?? false
        let (here, there) = (
            source.path(of: first, isEncrypted: isEncrypted), target.path(of: first, isEncrypted: isEncrypted)
        )
        if link(here, there) != 0, errno == EXDEV {
            let folder = source.root.appending(component: linkDirectoryPrefix + UUID().uuidString)
            guard mkdir(folder.path, 0o700) == 0 else { throw DurableFile.failure("Can't create \(folder.path)") }
            lock = try DirectoryLock(folder, errorCode: .conflict, "another backup uses it")
            links = MediaDirectory(in: folder)
            try links.make(hasUploads: false)
        } else {
            links = target
        }
        var after: BlobID?
        while case let blobs = source.list(after: after, limit: 1000), let last = blobs.last {
            after = last
            // If the file system has no hard links, blobs that the server removes during the backup are missing.
            for blob in blobs {
                // Try both forms, because the server may be encrypting or decrypting the blob.
                for isEncrypted in [true, false] {
                    link(
                        source.path(of: blob, isEncrypted: isEncrypted), links.path(of: blob, isEncrypted: isEncrypted))
                }
            }
        }
        return (links, lock)
    }

    private static let linkDirectoryPrefix = "backup-"

    /// Puts the blobs that the backup's store refers to into the backup and removes the others.
    ///
    /// A blob that is missing in the data directory is also missing in the backup. The command `verify` reports such
    /// blobs.
    ///
    /// - Parameter links: The directory that ``linkMedia(of:in:)`` returned.
    static func copyMedia(
        of data: URL, from links: MediaDirectory, in partial: URL, referredToBy store: URL
    ) throws(ChatError) {
        let (source, target) = (MediaDirectory(in: data), MediaDirectory(in: partial))
        defer {
            if links.root != target.root {
                try? FileManager.default.removeItem(at: links.root.deletingLastPathComponent())
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
            for isEncrypted in [true, false] { unlink(target.path(of: blob, isEncrypted: isEncrypted)) }
        }
        for blob in wanted where target.size(of: blob) == nil {
            // Newer blobs have no link in `links`, but the server does not remove a blob during its first day.
            guard let place = [links, source].first(where: { $0.size(of: blob) != nil }),
                let isEncrypted = place.isEncrypted(blob)
            else { continue }
            let (here, there) = (
                place.url(of: blob, isEncrypted: isEncrypted), target.url(of: blob, isEncrypted: isEncrypted)
            )
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
            let isEncrypted = source.isEncrypted(blob) ?? false
            let (here, there) = (
                source.url(of: blob, isEncrypted: isEncrypted), target.url(of: blob, isEncrypted: isEncrypted)
            )
            // The existing file may be a hard link to the backup's blob, so don't overwrite its bytes.
            unlink(there.path)
            let copied = try DurableFile.copy(here, to: there)
            guard isEncrypted else {
                try check(copied.sha256, blob, here)
                continue
            }
            try checkEncrypted(blob, in: target, keys, here)
        }
        try syncFolders(of: target)
    }

    /// Verifies the hashes of the blobs in a backup.
    static func checkMedia(_ directory: URL, keys: StoreKeys?) throws(ChatError) {
        let media = MediaDirectory(in: directory)
        for blob in media.list(after: nil, limit: .max) {
            guard media.isEncrypted(blob) == true else {
                try check(try DurableFile.read(media.url(of: blob)).sha256, blob, media.url(of: blob))
                continue
            }
            try checkEncrypted(blob, in: media, keys, media.url(of: blob, isEncrypted: true))
        }
    }

    /// - Parameter file: The file that errors name.
    private static func checkEncrypted(
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
