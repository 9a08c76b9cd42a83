import Foundation
import Logging
import ScrollbackEngine
import ScrollbackModel
import Synchronization

/// The folder of the option `--backups`, into which the server writes one backup at a time.
///
/// Each backup is in a folder whose name is the time of its start, so that requests choose no path.
final class BackupFolder: BackupWriter {
    /// Writes a backup, as ``Backup/write(of:to:now:progress:)`` does.
    typealias Write =
        @Sendable (
            _ data: URL, _ directory: URL, _ now: Date, _ progress: Backup.Progress
        ) throws(ChatError) -> BackupManifest

    private struct State {
        var running: BackupProgress?
        var failure: BackupFailure?
    }

    private let folder: URL
    private let data: URL
    private let logger: Logger
    private let clock: @Sendable () -> Date
    private let write: Write
    private let state = Mutex(State())

    /// Creates the folder if it does not exist, and removes backups that a stop of the server interrupted.
    ///
    /// - Parameters:
    ///   - folder: The folder for backups.
    ///   - data: The data directory.
    ///   - write: Writes a backup.
    /// - Throws: `invalid-parameter` or `conflict` if the folder can't be created or written.
    init(
        _ folder: URL, of data: URL, logger: Logger, clock: @escaping @Sendable () -> Date = { Date() },
        write: @escaping Write = Backup.write
    ) throws(ChatError) {
        self.folder = folder
        self.data = data
        self.logger = logger
        self.clock = clock
        self.write = write
        try Backup.makeDirectory(folder, for: "backups")
        try checkIsWritable()
        Backup.removeInterrupted(in: folder, where: Self.isName)
    }

    // MARK: Writing

    func start() throws(ChatError) -> BackupProgress {
        try checkIsWritable()
        let now = clock()
        let progress = BackupProgress(name: Self.name(at: now), startedAt: now)
        guard !FileManager.default.fileExists(atPath: directory(progress.name).path) else {
            throw ChatError(.conflict, "The backup \(progress.name) exists. Start the next one a second later.")
        }
        let other = state.withLock { state in
            let running = state.running
            if running == nil { state.running = progress }
            return running
        }
        if let other { throw ChatError(.conflict, "The backup \(other.name) is running. Wait until it ends.") }
        // A thread of its own, because a backup takes minutes.
        Thread.detachNewThread { self.run(progress) }
        return progress
    }

    private func run(_ backup: BackupProgress) {
        lowerThreadPriority()
        let result = Result { () throws(ChatError) -> BackupManifest in
            Backup.removeInterrupted(in: folder, where: Self.isName)
            return try write(data, directory(backup.name), backup.startedAt) { copied, total in
                state.withLock { state in
                    state.running?.copiedBytes = copied
                    state.running?.totalBytes = total
                }
            }
        }
        var failure: BackupFailure?
        switch result {
        case .success(let manifest):
            logger.notice(
                "A backup is complete.", metadata: ["backup": "\(backup.name)", "messages": "\(manifest.messages)"])
        case .failure(let error):
            logger.error(
                "A backup failed.",
                metadata: ["backup": "\(backup.name)", "code": "\(error.code)", "reason": "\(error.message)"])
            failure = BackupFailure(name: backup.name, failedAt: clock(), error: error.message)
        }
        state.withLock { $0 = State(running: nil, failure: failure) }
    }

    private func directory(_ name: String) -> URL { folder.appending(component: name) }

    /// - Throws: `conflict` if the folder is missing, is a file, or can't be written.
    private func checkIsWritable() throws(ChatError) {
        // With the slash, a file is refused.
        guard access(folder.path + "/", R_OK | W_OK | X_OK) == 0 else {
            let reason = String(cString: strerror(errno))
            throw ChatError(
                .conflict, "The folder of --backups can't be written (\(folder.path)): \(reason).",
                parameter: "backups")
        }
    }

    // MARK: Listing

    func list() throws(ChatError) -> BackupList {
        // Before the folder is read: a backup that has just ended is in the list.
        let (running, failure) = state.withLock { ($0.running, $0.failure) }
        try checkIsWritable()
        var list = BackupList(
            running: running, failure: failure, includesFiles: !DirectoryMarker.s3.exists(in: data))
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        for name in names.filter(Self.isName).sorted(by: >) where list.backups.count < BackupList.maximum {
            if let backup = summary(name) { list.backups.append(backup) }
        }
        return list
    }

    /// Returns a summary of the backup with a name, or `nil` if it is not complete.
    private func summary(_ name: String) -> BackupSummary? {
        guard let manifest = try? BackupManifest.read(in: directory(name)) else { return nil }
        return BackupSummary(
            name: name, createdAt: manifest.createdAt, bytes: manifest.bytes, conversations: manifest.conversations,
            messages: manifest.messages)
    }

    // MARK: Names

    /// The name of a backup that starts at a time, in UTC.
    ///
    /// It has no colon, which some file systems refuse.
    private static func name(at date: Date) -> String {
        "\(date.iso8601.prefix(19).replacing(":", with: ""))Z"
    }

    private static func isName(_ name: String) -> Bool {
        name.wholeMatch(of: #/\d{4}-\d\d-\d\dT\d{6}Z/#) != nil
    }
}

extension ServerOptions {
    /// Creates what writes backups for administrators.
    ///
    /// - Throws: `invalid-parameter` or `conflict` if the folder of `--backups` can't be used.
    func makeBackupWriter(logger: Logger) throws(ChatError) -> any BackupWriter {
        guard storeURL == nil else {
            let remedy = "Use the tools of the database for backups, such as pg_dump"
            guard backups == nil else {
                throw .invalidParameter("backups", "can't be used with a PostgreSQL store. \(remedy)")
            }
            return NoBackupWriter("The messages are in a PostgreSQL database. \(remedy).")
        }
        guard let backups else { return NoBackupWriter() }
        return try BackupFolder(
            URL(filePath: backups, directoryHint: .isDirectory), of: directory, logger: logger)
    }
}
