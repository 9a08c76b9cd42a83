package import Foundation
import ScrollbackEngine
package import ScrollbackModel
package import ScrollbackSQLite
package import StoreFiles

extension Backup {
    /// Ends the names of files that are not in place yet.
    private static let unfinished = ".restoring"

    /// Puts a backup into a data directory where there is no store, under a new generation: devices that know the server
    /// notice at its first answer, and start over.
    ///
    /// The store gets its name last, and on disk before that: a restore that was stopped half way can be run again.
    ///
    /// - Parameter erasures: an `erasures.jsonl`, of the directory that is replaced or of a later backup: whom it names is
    ///   erased again when the server starts, as are those whom one in the data directory names, or in the backup itself.
    /// - Parameter keys: of files that are sealed, which are opened to see that they are what was backed up.
    /// - Returns: what is in the backup, and how many are known to have been erased; nothing where no list told.
    /// - Throws: `invalid-parameter` where either directory is not what it must be, or a file is not what was backed up;
    ///   `conflict` where a server runs.
    package static func restore(
        _ directory: URL, to data: URL, erasures: URL? = nil, keys: StoreKeys? = nil,
        progress: Progress = { _, _ in }
    ) throws(ChatError) -> (manifest: BackupManifest, contents: StoreContents, erasures: Int?) {
        let manifest = try BackupManifest.read(in: directory)
        let known = try erasures.map { (file) throws(ChatError) in try FileErasureRegister.read(file) }
        let exists = FileManager.default.fileExists(atPath: data.path)
        try makeDirectory(data, for: "data")
        let lock = try DirectoryLock(data, else: .conflict, "stop the server that runs there")
        defer { lock.release() }
        do {
            try checkHasNoStore(data)
            let count = try keepErasures(known, from: directory, manifest, in: data)
            let contents = try fill(data, from: directory, manifest, keys, progress)
            return (manifest, contents, count)
        } catch {
            for name in names + [FileErasureRegister.fileName] {
                unlink(data.appending(component: name + unfinished).path)
            }
            if !exists {
                try? FileManager.default.removeItem(at: MediaDirectory(in: data).root)
                unlink(data.appending(component: DirectoryLock.fileName).path)
                unlink(data.appending(component: FileErasureRegister.fileName).path)
                rmdir(data.path)
            }
            throw error
        }
    }

    private static var names: [String] { [SQLiteStore.fileName] + secrets }

    /// Whether a restore into a directory was stopped half way.
    static func isUnfinished(in data: URL) -> Bool {
        FileManager.default.fileExists(atPath: data.appending(component: SQLiteStore.fileName + unfinished).path)
    }

    /// Refuses what a server must not be started on: it would go on under the generation of the store that was backed up,
    /// or make an empty store where one was to be.
    static func checkIsNone(_ data: URL) throws(ChatError) {
        if BackupManifest.exists(in: data) {
            throw .invalidParameter(
                "data", "is a backup (\(data.path)): restore it into another directory with `scrollback restore`")
        }
        if isUnfinished(in: data) {
            throw .invalidParameter(
                "data", "was being restored, and that has not ended (\(data.path)): run `scrollback restore` again")
        }
    }

    /// A log of commits without its store would be taken for the log of the one that is put there.
    private static func checkHasNoStore(_ data: URL) throws(ChatError) {
        let found = (try? FileManager.default.contentsOfDirectory(atPath: data.path)) ?? []
        // Of its secrets a restore that was stopped may have put some in place already.
        let owned = isUnfinished(in: data) ? [] : secrets
        let store = found.sorted().first { name in
            let isStore = name.hasPrefix(SQLiteStore.fileName) || name.hasPrefix("search.sqlite")
            return isStore && !name.contains(unfinished) || owned.contains(name)
        }
        let hasFiles = !isUnfinished(in: data) && !MediaDirectory(in: data).list(after: nil, limit: 1).isEmpty
        guard let store = store ?? (hasFiles ? MediaDirectory.name : nil) else { return }
        throw .invalidParameter(
            "data",
            "has a store, or a part of one: \(data.appending(component: store).path). Move the directory away, or name "
                + "another one")
    }

    /// Writes down who is to be erased again, beside the list that is there, which keeps its place until all else is ready: a
    /// restore that is run again must not take its own list for one that somebody put there.
    ///
    /// - Returns: how many are known; nothing where only the backup told, which knows of nobody who was erased since.
    private static func keepErasures(
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
        let file = data.appending(component: name + unfinished)
        unlink(file.path)
        let register = FileErasureRegister(file)
        try register.add(all)
        return isKnown ? try register.all().count : nil
    }

    private static func fill(
        _ data: URL, from directory: URL, _ manifest: BackupManifest, _ keys: StoreKeys?, _ progress: Progress
    ) throws(ChatError) -> StoreContents {
        var done: Int64 = 0
        let store = data.appending(component: SQLiteStore.fileName + unfinished)
        // A half-written journal would be taken for the new file's.
        unlink(store.path + "-journal")
        for name in names {
            guard let expected = manifest.files.first(where: { $0.name == name }) else {
                throw .invalidParameter("directory", "can't be restored: it has no \(name)")
            }
            let file = directory.appending(component: name)
            let copied = try DurableFile.copy(file, to: data.appending(component: name + unfinished)) { bytes in
                done += bytes
                progress(done, manifest.bytes)
            }
            try check(copied, expected, file)
        }
        try restoreMedia(from: directory, to: data, keys: keys)
        let contents = try SQLiteStore.renewGeneration(of: store)
        try DurableFile.sync(store)
        let erasures = data.appending(component: FileErasureRegister.fileName)
        if FileManager.default.fileExists(atPath: erasures.path + unfinished) {
            try DurableFile.rename(URL(filePath: erasures.path + unfinished), to: erasures)
        }
        for name in names.reversed() {
            try DurableFile.rename(
                data.appending(component: name + unfinished), to: data.appending(component: name))
        }
        try DurableFile.sync(data)
        try DurableFile.sync(data.deletingLastPathComponent())
        return contents
    }

    /// Checks that a backup's files are what was written.
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
                "can't be restored: \(file.path) has \(found.bytes) bytes, and \(expected.bytes) were backed up")
        }
        guard found.sha256 == expected.sha256 else {
            throw .invalidParameter("directory", "can't be restored: \(file.path) was changed since it was backed up")
        }
    }
}
