package import Foundation
import ScrollbackEngine
package import ScrollbackModel
package import ScrollbackSQLite
package import SQLiteSupport

extension Backup {
    /// The suffix of files that are not yet complete.
    private static let temporarySuffix = ".restoring"

    /// Restores a backup into a data directory that has no store.
    ///
    /// The restored store gets a new generation, so that clients notice the change and synchronize again. The store
    /// file is synced first and renamed last, so that an interrupted restore can be repeated.
    ///
    /// - Parameters:
    ///   - directory: The backup.
    ///   - data: The data directory. It may exist, but must not contain a store.
    ///   - erasures: An `erasures.jsonl` of the replaced data directory or of a later backup. The server erases its
    ///     users again when it starts, as well as the users listed in `data` and in the backup.
    ///   - keys: The storage encryption keys, required to verify encrypted files.
    ///   - progress: Called with the number of copied bytes and the total.
    /// - Returns: The manifest, the contents of the store, and the number of known erasures. The number is `nil` if
    ///   only the backup has a list.
    /// - Throws: `invalid-parameter` if a directory is unsuitable or a file differs from the backup's manifest;
    ///   `conflict` if a server uses the data directory.
    package static func restore(
        _ directory: URL, to data: URL, erasures: URL? = nil, keys: StoreKeys? = nil,
        progress: Progress = { _, _ in }
    ) throws(ChatError) -> (manifest: BackupManifest, contents: StoreSummary, erasures: Int?) {
        let manifest = try BackupManifest.read(in: directory)
        let known = try erasures.map { (file) throws(ChatError) in try FileErasureRegister.read(file) }
        let exists = FileManager.default.fileExists(atPath: data.path)
        try makeDirectory(data, for: "data")
        let lock = try DirectoryLock(data, errorCode: .conflict, "stop the server that uses it")
        defer { lock.release() }
        do {
            try checkHasNoStore(data)
            let count = try mergeErasures(known, from: directory, manifest, in: data)
            let contents = try fill(data, from: directory, manifest, keys, progress)
            return (manifest, contents, count)
        } catch {
            for name in names + [FileErasureRegister.fileName] {
                unlink(data.appending(component: name + temporarySuffix).path)
            }
            if !exists {
                try? FileManager.default.removeItem(at: MediaDirectory(in: data).root)
                unlink(data.appending(component: DirectoryLock.fileName).path)
                unlink(data.appending(component: FileErasureRegister.fileName).path)
                unlink(data.appending(component: DirectoryMarker.s3.rawValue).path)
                rmdir(data.path)
            }
            throw error
        }
    }

    private static var names: [String] { [SQLiteStore.fileName] + secrets }

    /// Whether a restore into the directory was interrupted.
    static func isUnfinished(in data: URL) -> Bool {
        FileManager.default.fileExists(atPath: data.appending(component: SQLiteStore.fileName + temporarySuffix).path)
    }

    /// Rejects directories that only look like a data directory.
    ///
    /// On a backup, the server would continue the generation of the original store. After an interrupted restore or
    /// backup, it would create an empty store.
    ///
    /// - Parameter parameter: The option or argument that names the directory.
    package static func checkIsDataDirectory(_ data: URL, parameter: String = "data") throws(ChatError) {
        if BackupManifest.exists(in: data) {
            throw .invalidParameter(
                parameter, "is a backup (\(data.path)): restore it to another directory with `scrollback restore`")
        }
        if isUnfinished(in: data) {
            throw .invalidParameter(
                parameter, "is an incomplete restore (\(data.path)): run `scrollback restore` again")
        }
        if data.standardizedFileURL.lastPathComponent.hasSuffix(partialSuffix) {
            throw .invalidParameter(
                parameter, "is an interrupted backup (\(data.path)): take the backup again, which removes it")
        }
    }

    /// Rejects data directories with a part of a store.
    ///
    /// SQLite would apply an old write-ahead log to the restored store.
    private static func checkHasNoStore(_ data: URL) throws(ChatError) {
        let found = (try? FileManager.default.contentsOfDirectory(atPath: data.path)) ?? []
        // An interrupted restore may already have renamed some of the secrets.
        let owned = isUnfinished(in: data) ? [] : secrets
        let store = found.sorted().first { name in
            let isStore = name.hasPrefix(SQLiteStore.fileName) || name.hasPrefix("search.sqlite")
            return isStore && !name.contains(temporarySuffix) || owned.contains(name)
        }
        let hasFiles = !isUnfinished(in: data) && !MediaDirectory(in: data).list(after: nil, limit: 1).isEmpty
        guard let store = store ?? (hasFiles ? MediaDirectory.name : nil) else { return }
        throw .invalidParameter(
            "data",
            "contains a store or a part of one: \(data.appending(component: store).path). Move the directory away or "
                + "use another one")
    }

    /// Merges all known erasures into a temporary list next to the existing one.
    ///
    /// The existing list is replaced last. A repeated restore must be able to distinguish the operator's list from its
    /// own.
    ///
    /// - Returns: The number of known erasures, or `nil` if only the backup has a list, which lacks later erasures.
    private static func mergeErasures(
        _ given: [RegisteredErasure]?, from directory: URL, _ manifest: BackupManifest, in data: URL
    ) throws(ChatError) -> Int? {
        let name = FileErasureRegister.fileName
        if let expected = manifest.files.first(where: { $0.name == name }) {
            let file = directory.appending(component: name)
            try check(try DurableFile.read(file), expected, file)
        }
        let isKnown =
            given != nil || FileManager.default.fileExists(atPath: data.appending(component: name).path)
        let all =
            try FileErasureRegister(in: data).all() + (given ?? []) + FileErasureRegister(in: directory).all()
        let file = data.appending(component: name + temporarySuffix)
        unlink(file.path)
        let register = FileErasureRegister(file)
        try register.add(all)
        return isKnown ? try register.all().count : nil
    }

    private static func fill(
        _ data: URL, from directory: URL, _ manifest: BackupManifest, _ keys: StoreKeys?, _ progress: Progress
    ) throws(ChatError) -> StoreSummary {
        var done: Int64 = 0
        let store = data.appending(component: SQLiteStore.fileName + temporarySuffix)
        // SQLite would apply an old journal to the new file.
        unlink(store.path + "-journal")
        for name in names {
            guard let expected = manifest.files.first(where: { $0.name == name }) else {
                throw .invalidParameter("directory", "can't be restored: it does not contain \(name)")
            }
            let file = directory.appending(component: name)
            let copied = try DurableFile.copy(file, to: data.appending(component: name + temporarySuffix)) { bytes in
                done += bytes
                progress(done, manifest.bytes)
            }
            try check(copied, expected, file)
        }
        if let files = DirectoryMarker.s3.place(in: directory) {
            try DirectoryMarker.s3.create(in: data, naming: files)
        }
        try restoreMedia(from: directory, to: data, keys: keys)
        let contents = try SQLiteStore.renewGeneration(of: store)
        try DurableFile.sync(store)
        let erasures = data.appending(component: FileErasureRegister.fileName)
        if FileManager.default.fileExists(atPath: erasures.path + temporarySuffix) {
            try DurableFile.rename(URL(filePath: erasures.path + temporarySuffix), to: erasures)
        }
        for name in names.reversed() {
            try DurableFile.rename(
                data.appending(component: name + temporarySuffix), to: data.appending(component: name))
        }
        try DurableFile.sync(data)
        try DurableFile.sync(data.deletingLastPathComponent())
        return contents
    }

    /// Verifies the size and the checksum of all files in a backup.
    package static func check(
        _ directory: URL, keys: StoreKeys? = nil, progress: Progress = { _, _ in }
    ) throws(ChatError) -> BackupManifest {
        let manifest = try BackupManifest.read(in: directory)
        var done: Int64 = 0
        for expected in manifest.files {
            let file = directory.appending(component: expected.name)
            let found = try DurableFile.read(file) { (bytes) throws(ChatError) in
                done += Int64(bytes.count)
                progress(done, manifest.bytes)
            }
            try check(found, expected, file)
        }
        try checkMedia(directory, keys: keys)
        return manifest
    }

    private static func check(
        _ found: BackupManifest.File, _ expected: BackupManifest.File, _ file: URL
    ) throws(ChatError) {
        guard found.bytes == expected.bytes else {
            throw .invalidParameter(
                "directory",
                "can't be restored: \(file.path) has \(found.bytes) bytes instead of \(expected.bytes)")
        }
        guard found.sha256 == expected.sha256 else {
            throw .invalidParameter("directory", "can't be restored: \(file.path) changed after the backup")
        }
    }
}
