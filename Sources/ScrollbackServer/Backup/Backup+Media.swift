import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite

/// The bytes of files in backups: under the same names, which are their hashes.
extension Backup {
    /// Holds on to all bytes that are there, where that costs nothing: whatever the store's copy refers to is then in the
    /// backup, though the server may remove it meanwhile.
    static func holdMedia(of data: URL, in partial: URL) throws(ChatError) {
        let (source, target) = (MediaDirectory(in: data), MediaDirectory(in: partial))
        guard !source.list(after: nil, limit: 1).isEmpty else { return }
        try target.make(hasUploads: false)
        var after: BlobID?
        while case let blobs = source.list(after: after, limit: 1000), let last = blobs.last {
            after = last
            for blob in blobs {
                try target.makeFolder(target.folder(of: blob))
                // On another volume they are copied later, those that are referred to.
                guard link(source.url(of: blob).path, target.url(of: blob).path) == 0 || errno != EXDEV else { return }
            }
        }
    }

    /// Takes what the store's copy refers to, and lets go of the rest.
    ///
    /// What is missing in the data directory is missing in the backup: `verify` says so of both.
    static func takeMedia(of data: URL, in partial: URL, referredToBy store: URL) throws(ChatError) {
        let (source, target) = (MediaDirectory(in: data), MediaDirectory(in: partial))
        let wanted = try SQLiteStore.blobs(of: store)
        guard !wanted.isEmpty else {
            try? FileManager.default.removeItem(at: target.root)
            return
        }
        try target.make(hasUploads: false)
        let known = Set(wanted)
        for blob in target.list(after: nil, limit: .max) where !known.contains(blob) {
            unlink(target.url(of: blob).path)
        }
        for blob in wanted where target.size(of: blob) == nil {
            guard source.size(of: blob) != nil else { continue }
            try target.makeFolder(target.folder(of: blob))
            if link(source.url(of: blob).path, target.url(of: blob).path) == 0 { continue }
            _ = try DurableFile.copy(source.url(of: blob), to: target.url(of: blob))
        }
        try syncFolders(of: target)
    }

    /// Copies a backup's bytes into a data directory, checking each against its name.
    static func restoreMedia(
        from directory: URL, to data: URL
    ) throws(ChatError) {
        let (source, target) = (MediaDirectory(in: directory), MediaDirectory(in: data))
        guard FileManager.default.fileExists(atPath: source.blobs.path) else { return }
        try target.make()
        for blob in source.list(after: nil, limit: .max) {
            try target.makeFolder(target.folder(of: blob))
            let copied = try DurableFile.copy(source.url(of: blob), to: target.url(of: blob))
            try check(copied, blob, source.url(of: blob))
        }
        try syncFolders(of: target)
    }

    /// Checks a backup's bytes against their names.
    static func checkMedia(_ directory: URL) throws(ChatError) {
        let media = MediaDirectory(in: directory)
        for blob in media.list(after: nil, limit: .max) {
            let found = try DurableFile.read(media.url(of: blob))
            try check(found, blob, media.url(of: blob))
        }
    }

    private static func check(_ found: BackupManifest.File, _ blob: BlobID, _ file: URL) throws(ChatError) {
        guard found.sha256 == blob.description else {
            throw .invalidParameter("directory", "can't be restored: \(file.path) was changed since it was backed up")
        }
    }

    private static func syncFolders(of media: MediaDirectory) throws(ChatError) {
        for name in media.names(in: media.blobs) { try DurableFile.sync(media.blobs.appending(component: name)) }
        try DurableFile.sync(media.blobs)
    }
}
