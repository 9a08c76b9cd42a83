import ArgumentParser
import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackServer
import ScrollbackSQLite
import SQLiteSupport

struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check the integrity of a data directory, a backup or a client's store.",
        discussion: """
            Data directory: checks sequence numbers, timetokens, counts, indexes, and that encrypted values can be \
            decrypted. The server must not be running.

            Client's store: checks that messages, gaps and deleted ranges cover every position of every conversation.

            With --against, the command also compares a client's store with a data directory or a backup. It fails if \
            the client has seen messages or changes that the other side does not have, or has others in their place. \
            The server can be running.

            Backup: checks the files' checksums and the store, without modifying them. If an older version wrote the \
            backup, only the files are checked. Restore the backup and verify the data directory.

            PostgreSQL database: give the data directory of one of its servers, and --store or SCROLLBACK_STORE_URL. \
            The command copies one state of the database to a temporary file and checks that. The servers can be \
            running.

            Files in an S3 store are not checked.

            For a server started with `make run`: scrollback backup ./monday && scrollback verify ./monday
            """)

    @Argument(help: "The data directory, backup or client's store to check.")
    var directory = "./scrollback-data"

    @Option(help: "The data directory or backup to compare a client's store with.")
    var against: String?

    @Option(
        help: """
            The URL of the PostgreSQL database with the messages of the data directory (default: SCROLLBACK_STORE_URL, \
            if its server uses PostgreSQL).
            """)
    var store: String?

    @OptionGroup var storeKeyOptions: StoreKeyOptions

    @Flag(help: "Print each violation and then a summary as JSON objects, one per line.")
    var json = false

    func run() async throws {
        try await reporting {
            let url = URL(filePath: directory, directoryHint: .isDirectory)
            var violations: [String]
            var olderSchema: Int?
            try checkIsReadable(url, parameter: "directory")
            if let against {
                try checkIsReadable(URL(filePath: against, directoryHint: .isDirectory), parameter: "against")
            }
            if against != nil, BackupManifest.exists(in: url) || isDataDirectory(url) {
                throw ChatError.invalidParameter("against", "can only be compared with a client's store")
            }
            if let against { try DirectoryMarker.checkHasMessages(URL(filePath: against), parameter: "against") }
            if let storeURL = databaseURL(url) {
                guard against == nil else {
                    throw ChatError.invalidParameter("against", "can't be used with --store")
                }
                return try finish(verifyDatabase(storeURL, filesIn: url))
            }
            try DirectoryMarker.checkHasMessages(url, parameter: "directory")
            if BackupManifest.exists(in: url) {
                (violations, olderSchema) = try verifyBackup(url)
            } else if isDataDirectory(url) {
                try ScrollbackServer.Backup.checkIsDataDirectory(url, parameter: "directory")
                violations = try verifyServer(url)
            } else if let store = try LocalStore.existing(in: url, keys: storeKeyOptions.keysFromEnvironment()) {
                violations = try await store.read { try $0.violations() }
                if let against { violations += try await differences(of: store, from: against) }
                try store.close()
            } else {
                throw ChatError.invalidParameter(
                    "directory", "is not a data directory, a backup or a client's store: \(url.path)")
            }
            try finish(violations, olderSchema)
        }
    }

    private func checkIsReadable(_ url: URL, parameter: String) throws(ChatError) {
        try checkAccess(to: url, [BackupManifest.fileName, SQLiteStore.fileName], parameter: parameter)
    }

    private func finish(_ violations: [String], _ olderSchema: Int? = nil) throws {
        report(violations, olderSchema)
        if !violations.isEmpty { throw Exit.failed }
    }

    /// The URL of the database to check, or `nil` for a directory that has its messages itself.
    private func databaseURL(_ url: URL) -> String? {
        guard store == nil, DirectoryMarker.postgres.exists(in: url) else { return store }
        return ProcessInfo.processInfo.environment["SCROLLBACK_STORE_URL"]
    }

    private func verifyDatabase(_ storeURL: String, filesIn url: URL) throws -> [String] {
        let hasFiles = FileManager.default.fileExists(atPath: MediaDirectory(in: url).blobs.path)
        var progress = StepProgress()
        let violations = try DatabaseVerification(of: storeURL).run(
            blobSize: hasFiles ? blobSize(in: url) : nil
        ) { progress.show($0.rawValue, $1, of: $2) }
        progress.finish()
        return violations
    }

    private func isDataDirectory(_ url: URL) -> Bool {
        FileManager.default.fileExists(atPath: url.appending(path: SQLiteStore.fileName).path)
    }

    /// Compares a client's store with a data directory.
    private func differences(of store: LocalStore, from path: String) async throws -> [String] {
        let url = URL(filePath: path, directoryHint: .isDirectory)
        let (checkpoint, logs) = try await store.read { reader in
            (
                try reader.checkpoint(),
                try reader.logs().map { log in
                    ClientLog(
                        conversation: log.conversation, epoch: log.epoch, head: log.head, rev: log.rev,
                        messages: log.messages)
                }
            )
        }
        return try SQLiteStore.compare(
            logs, checkpoint: checkpoint, with: url, keys: storeKeyOptions.keysFromEnvironment(),
            checkpointKey: SigningKeys.existing(in: url)?.checkpointKey)
    }

    private func verifyServer(_ url: URL) throws -> [String] {
        try checkAccess(
            to: url, [SQLiteStore.fileName, DirectoryLock.fileName], R_OK | W_OK, parameter: "directory")
        guard !DirectoryLock.isHeld(url) else {
            throw ChatError(
                .conflict,
                "The directory \(url.path) is in use, usually by a server. Stop the server, or verify a backup: run "
                    + "`scrollback backup NEW --data \(url.path)` and `scrollback verify NEW`.")
        }
        var options = SQLiteStore.Options()
        options.keys = try storeKeyOptions.keysFromEnvironment()
        options.reencryptsExistingRows = false
        let store = try SQLiteStore(directory: url, options: options)
        defer { try? store.close() }
        return try checking { progress in
            try store.verify(blobSize: blobSize(in: url), progress: progress)
        }
    }

    private func verifyBackup(_ url: URL) throws -> (violations: [String], olderSchema: Int?) {
        let keys = try storeKeyOptions.keysFromEnvironment()
        var reading: Progress?
        do {
            _ = try ScrollbackServer.Backup.check(url, keys: keys) { done, total in
                if reading == nil { reading = Progress("reading", total: Int(total), isBytes: true) }
                reading?.show(Int(done))
            }
            reading?.finish(reading?.total ?? 0)
        } catch {
            return ([error.message], nil)
        }
        var olderSchema: Int?
        let violations = try checking { progress in
            let found = try SQLiteStore.verify(
                file: url.appending(component: SQLiteStore.fileName), keys: keys,
                blobSize: blobSize(in: url), progress: progress)
            olderSchema = found.olderSchema
            return found.findings
        }
        return (violations, olderSchema)
    }

    /// Returns the sizes of blobs, or `nil` if they are not in the directory and can't be checked.
    private func blobSize(in url: URL) -> BlobSize? {
        guard DirectoryMarker.s3.exists(in: url) else { return { MediaDirectory(in: url).size(of: $0) } }
        Output.error("warning: the files are in an S3 store, and are not checked.")
        return nil
    }

    private func checking(_ verify: ((VerifyProgress) -> Void) throws -> [String]) rethrows -> [String] {
        var progress: Progress?
        let violations = try verify { step in
            if progress == nil { progress = Progress("checking", total: Int(step.totalConversations)) }
            progress?.show(Int(step.conversations), "\(step.messages) messages")
        }
        progress?.finish(progress?.total ?? 0)
        return violations
    }

    private func report(_ violations: [String], _ olderSchema: Int?) {
        for violation in violations {
            if json { Output.json { $0.field("violation", violation) } } else { Output.line(violation) }
        }
        if json {
            Output.json { writer in
                writer.field("violations", violations.count)
                writer.field("olderSchema", olderSchema)
            }
        } else if let olderSchema, violations.isEmpty {
            Output.line(
                "the files are intact. The backup has the older schema \(olderSchema): restore it, then verify"
            )
        } else {
            Output.line(violations.isEmpty ? "no violations" : "\(violations.count) violations")
        }
    }
}
