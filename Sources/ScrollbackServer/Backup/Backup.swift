package import Foundation
package import ScrollbackModel
import ScrollbackSQLite
import SQLiteSupport

/// Complete copies of a data directory: the store, media files, secrets and the administrator token, with a manifest.
package enum Backup {
    /// The files that a server requires in addition to the store.
    ///
    /// Without `secrets.json`, every token becomes invalid.
    static let secrets = ["secrets.json", "admin.key"]

    /// Reports progress in bytes.
    package typealias Progress = (_ done: Int64, _ total: Int64) -> Void

    /// Copies a data directory.
    ///
    /// A server may be using it.
    ///
    /// Files in an S3-compatible store are not copied. The backup then has the marker ``DirectoryMarker/s3``.
    ///
    /// The backup is written to a temporary directory next to `directory`, and renamed when it is complete and synced.
    /// After an error, no files remain.
    ///
    /// - Parameters:
    ///   - data: The data directory.
    ///   - directory: The directory for the backup. It must not exist, or must be empty.
    ///   - now: The time of the backup.
    ///   - progress: Called with the number of copied bytes and the total.
    /// - Throws: `invalid-parameter` if a directory is unsuitable; `conflict` if another backup writes to the same
    ///   directory; `storage-full` if the volume is full.
    package static func write(
        of data: URL, to directory: URL, now: Date = Date(), progress: Progress = { _, _ in }
    ) throws(ChatError) -> BackupManifest {
        try DirectoryMarker.checkHasMessages(data, parameter: "data")
        // Resolve symbolic links and remove a trailing slash, because the name of the temporary directory derives from
        // the path.
        let directory = directory.standardizedFileURL.resolvingSymlinksInPath()
        let parent = directory.deletingLastPathComponent()
        try checkIsFree(directory, in: parent)
        let partial = parent.appending(component: directory.lastPathComponent + partialSuffix)
        try makeDirectory(parent, for: "directory")
        try makeDirectory(partial, for: "directory")
        let lock = try DirectoryLock(partial, errorCode: .conflict, "another backup is writing to it")
        do {
            // Remove files of an interrupted backup.
            try empty(partial)
            let manifest = try fill(partial, of: data, now, progress)
            try DurableFile.rename(partial, to: directory)
            try? FileManager.default.removeItem(at: directory.appending(component: DirectoryLock.fileName))
            try DurableFile.sync(parent)
            lock.release()
            return manifest
        } catch {
            discard(partial)
            throw error
        }
    }

    /// The suffix of the name of a backup that is not complete.
    static let partialSuffix = ".partial"

    /// Removes what interrupted backups left in a folder, but not a backup that a process is writing.
    ///
    /// - Parameter isRemoved: Whether to remove the interrupted backup with this name.
    static func removeInterrupted(in folder: URL, where isRemoved: (_ name: String) -> Bool) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        where name.hasSuffix(partialSuffix) && isRemoved(String(name.dropLast(partialSuffix.count))) {
            let partial = folder.appending(component: name)
            guard let lock = try? DirectoryLock(partial, errorCode: .conflict, "another backup is writing to it") else {
                continue
            }
            discard(partial)
            lock.release()
        }
    }

    /// Removes a directory with the files of an incomplete backup, unless it has other files, too.
    private static func discard(_ partial: URL) {
        try? empty(partial)
        try? FileManager.default.removeItem(at: partial.appending(component: DirectoryLock.fileName))
        rmdir(partial.path)
    }

    private static func checkIsFree(_ directory: URL, in parent: URL) throws(ChatError) {
        let files = FileManager.default
        guard files.fileExists(atPath: directory.path) else { return }
        guard let names = try? files.contentsOfDirectory(atPath: directory.path) else {
            throw .invalidParameter("directory", "is not a readable directory: \(directory.path)")
        }
        guard names.isEmpty else {
            throw .invalidParameter(
                "directory", "is not empty: \(directory.path). Use a directory that does not exist")
        }
        func device(_ url: URL) -> Int? { try? files.attributesOfItem(atPath: url.path)[.systemNumber] as? Int }
        guard device(directory) == device(parent) else {
            throw .invalidParameter(
                "directory", "is a mount point: use a new directory on that volume, \(directory.path)/NAME")
        }
    }

    static func makeDirectory(_ directory: URL, for parameter: String) throws(ChatError) {
        do {
            try FileManager.default.createDirectory(
                at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? any Error ?? error
            let code = cause as NSError
            let reason = code.domain == NSPOSIXErrorDomain ? ": " + String(cString: strerror(Int32(code.code))) : ""
            throw ChatError(
                .invalidParameter, "Can't create the directory \(directory.path)\(reason).", parameter: parameter,
                cause: error)
        }
    }

    private static func empty(_ partial: URL) throws(ChatError) {
        let own =
            [
                SQLiteStore.fileName, BackupManifest.fileName, FileErasureRegister.fileName,
                DirectoryMarker.s3.rawValue,
            ] + ["-journal", "-wal", "-shm"].map { SQLiteStore.fileName + $0 } + secrets
        for name in own { unlink(partial.appending(component: name).path) }
        try? FileManager.default.removeItem(at: MediaDirectory(in: partial).root)
        let left = (try? FileManager.default.contentsOfDirectory(atPath: partial.path)) ?? []
        guard left.allSatisfy({ $0 == DirectoryLock.fileName }) else {
            throw .invalidParameter("directory", "can't be written: remove \(partial.path) first")
        }
    }

    private static func fill(
        _ partial: URL, of data: URL, _ now: Date, _ progress: Progress
    ) throws(ChatError) -> BackupManifest {
        let (links, lock) = try linkMedia(of: data, in: partial)
        defer { lock?.release() }
        let store = partial.appending(component: SQLiteStore.fileName)
        let contents = try SQLiteStore.copy(from: data, to: store, progress: progress)
        chmod(store.path, 0o600)
        try copyMedia(of: data, from: links, in: partial, referredToBy: store)
        var files = [try DurableFile.read(store)]
        for name in secrets {
            let file = data.appending(component: name)
            guard FileManager.default.fileExists(atPath: file.path) else {
                throw .invalidParameter("data", "has no \(name) (\(file.path)): start a server once to create it")
            }
            files.append(try DurableFile.copy(file, to: partial.appending(component: name)))
        }
        // The list of erasures is part of the backup, because it may be needed when an older backup is restored.
        let erasures = data.appending(component: FileErasureRegister.fileName)
        if FileManager.default.fileExists(atPath: erasures.path) {
            files.append(
                try DurableFile.copy(erasures, to: partial.appending(component: FileErasureRegister.fileName)))
        }
        if let files = DirectoryMarker.s3.place(in: data) { try DirectoryMarker.s3.create(in: partial, naming: files) }
        try DurableFile.sync(store)
        let manifest = BackupManifest(contents, files: files, now: now)
        guard let text = try? manifest.encoded() else {
            throw ChatError(.internalError, "Can't encode the manifest of the backup.")
        }
        try DurableFile.write(Array(text), to: partial.appending(component: BackupManifest.fileName))
        try DurableFile.sync(partial)
        return manifest
    }
}
