import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import StoreFiles

/// The bytes of files in backups: under the same names, which are their hashes.
extension Backup {
    /// Holds on to all bytes that are there, under second names: whatever the store's copy refers to can be taken from
    /// there, though the server may remove it meanwhile.
    ///
    /// - Returns: where they are held: in the backup where it lies on the same volume, else beside them.
    static func holdMedia(of data: URL, in partial: URL) throws(ChatError) -> MediaDirectory {
        let source = MediaDirectory(in: data)
        // What a backup that was ended left.
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
            guard mkdir(folder.path, 0o700) == 0 else { throw DurableFile.failure("\(folder.path) can't be made") }
            hold = MediaDirectory(in: folder)
            try hold.make(hasUploads: false)
        } else {
            hold = target
        }
        var after: BlobID?
        while case let blobs = source.list(after: after, limit: 1000), let last = blobs.last {
            after = last
            // Where a file system has no second names, what goes meanwhile is missing.
            for blob in blobs {
                // In either form: it may be changing from one to the other.
                for isSealed in [true, false] {
                    link(source.path(of: blob, isSealed: isSealed), hold.path(of: blob, isSealed: isSealed))
                }
            }
        }
        return hold
    }

    private static let held = "backup-"

    /// Takes what the store's copy refers to, and lets go of the rest.
    ///
    /// What is missing in the data directory is missing in the backup: `verify` says so of both.
    ///
    /// - Parameter hold: what ``holdMedia(of:in:)`` gave.
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
            // What came after they were held is there still: it is younger than a day.
            guard let place = [hold, source].first(where: { $0.size(of: blob) != nil }),
                let isSealed = place.isSealed(blob)
            else { continue }
            let (here, there) = (place.url(of: blob, isSealed: isSealed), target.url(of: blob, isSealed: isSealed))
            if link(here.path, there.path) == 0 { continue }
            _ = try DurableFile.copy(here, to: there)
        }
        try syncFolders(of: target)
    }

    /// Copies a backup's bytes into a data directory, checking each against its name.
    static func restoreMedia(
        from directory: URL, to data: URL, keys: StoreKeys?
    ) throws(ChatError) {
        let (source, target) = (MediaDirectory(in: directory), MediaDirectory(in: data))
        guard FileManager.default.fileExists(atPath: source.blobs.path) else { return }
        try target.make()
        for blob in source.list(after: nil, limit: .max) {
            let isSealed = source.isSealed(blob) ?? false
            let (here, there) = (source.url(of: blob, isSealed: isSealed), target.url(of: blob, isSealed: isSealed))
            // A backup's bytes may be what lies there, under a second name: they are not written over.
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

    /// Checks a backup's bytes against their names.
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

    /// - Parameter file: as errors name it.
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
            throw .invalidParameter("directory", "can't be restored: \(file.path) was changed since it was backed up")
        }
    }

    private static func syncFolders(of media: MediaDirectory) throws(ChatError) {
        for name in media.names(in: media.blobs) { try DurableFile.sync(media.blobs.appending(component: name)) }
        try DurableFile.sync(media.blobs)
    }
}
