package import Foundation
package import ScrollbackModel
import ScrollbackSQLite
import StoreFiles

/// Whole copies of a data directory: its store, its secrets and its admin key, under a manifest.
package enum Backup {
    /// What a server can't be without, besides its store: without the secrets every token is refused.
    static let secrets = ["secrets.json", "admin.key"]

    /// How much is done: bytes, and of how many.
    package typealias Progress = (_ done: Int64, _ total: Int64) -> Void

    /// Copies a data directory, whether a server runs there or not.
    ///
    /// It is made under another name beside its own, and gets its own once it is whole and on disk.
    ///
    /// - Parameter directory: must not exist or be empty.
    /// - Throws: `invalid-parameter` where either directory is not what it must be, `storage-full` where there is no room;
    ///   nothing is left behind.
    package static func write(
        of data: URL, to directory: URL, now: Date = Date(), progress: Progress = { _, _ in }
    ) throws(ChatError) -> BackupManifest {
        // Without what a link or a slash at the end would do to its name.
        let directory = directory.standardizedFileURL.resolvingSymlinksInPath()
        let parent = directory.deletingLastPathComponent()
        try checkIsFree(directory, in: parent)
        let partial = parent.appending(component: directory.lastPathComponent + ".partial")
        try makeDirectory(parent, for: "directory")
        try makeDirectory(partial, for: "directory")
        let lock = try DirectoryLock(partial, else: .conflict, "another backup is being written there")
        do {
            // What a backup that was killed has left.
            try empty(partial)
            let manifest = try fill(partial, of: data, now, progress)
            try DurableFile.rename(partial, to: directory)
            try? FileManager.default.removeItem(at: directory.appending(component: DirectoryLock.fileName))
            try DurableFile.sync(parent)
            lock.release()
            return manifest
        } catch {
            try? empty(partial)
            try? FileManager.default.removeItem(at: partial.appending(component: DirectoryLock.fileName))
            rmdir(partial.path)
            throw error
        }
    }

    private static func checkIsFree(_ directory: URL, in parent: URL) throws(ChatError) {
        let files = FileManager.default
        guard files.fileExists(atPath: directory.path) else { return }
        guard let names = try? files.contentsOfDirectory(atPath: directory.path) else {
            throw .invalidParameter("directory", "is not a directory that can be read: \(directory.path)")
        }
        guard names.isEmpty else {
            throw .invalidParameter(
                "directory", "is not empty: \(directory.path). Name one that does not exist yet")
        }
        func device(_ url: URL) -> Int? { try? files.attributesOfItem(atPath: url.path)[.systemNumber] as? Int }
        guard device(directory) == device(parent) else {
            throw .invalidParameter(
                "directory", "is where a volume is mounted: name a new directory on it, \(directory.path)/NAME")
        }
    }

    static func makeDirectory(_ directory: URL, for parameter: String) throws(ChatError) {
        do {
            try FileManager.default.createDirectory(
                at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw ChatError(
                .invalidParameter, "\(parameter) can't be made: \(directory.path)", parameter: parameter, cause: error)
        }
    }

    private static func empty(_ partial: URL) throws(ChatError) {
        let own =
            [
                SQLiteStore.fileName, BackupManifest.fileName, FileErasureRegister.fileName,
            ] + ["-journal", "-wal", "-shm"].map { SQLiteStore.fileName + $0 } + secrets
        for name in own { unlink(partial.appending(component: name).path) }
        try? FileManager.default.removeItem(at: MediaDirectory(in: partial).root)
        let left = (try? FileManager.default.contentsOfDirectory(atPath: partial.path)) ?? []
        guard left.allSatisfy({ $0 == DirectoryLock.fileName }) else {
            throw .invalidParameter("directory", "can't be written: \(partial.path) is in the way")
        }
    }

    private static func fill(
        _ partial: URL, of data: URL, _ now: Date, _ progress: Progress
    ) throws(ChatError) -> BackupManifest {
        let hold = try holdMedia(of: data, in: partial)
        let store = partial.appending(component: SQLiteStore.fileName)
        let contents = try SQLiteStore.copy(from: data, to: store, progress: progress)
        chmod(store.path, 0o600)
        try takeMedia(of: data, from: hold, in: partial, referredToBy: store)
        var files = [try DurableFile.read(store)]
        for name in secrets {
            let file = data.appending(component: name)
            guard FileManager.default.fileExists(atPath: file.path) else {
                throw .invalidParameter("data", "has no \(name) (\(file.path)): start a server there once")
            }
            files.append(try DurableFile.copy(file, to: partial.appending(component: name)))
        }
        // An older backup may be restored beside this one.
        let erasures = data.appending(component: FileErasureRegister.fileName)
        if FileManager.default.fileExists(atPath: erasures.path) {
            files.append(
                try DurableFile.copy(erasures, to: partial.appending(component: FileErasureRegister.fileName)))
        }
        try DurableFile.sync(store)
        let manifest = BackupManifest(contents, files: files, now: now)
        guard let text = try? manifest.encoded() else {
            throw ChatError(.internalError, "the manifest can't be written")
        }
        try DurableFile.write(Array(text), to: partial.appending(component: BackupManifest.fileName))
        try DurableFile.sync(partial)
        return manifest
    }
}
