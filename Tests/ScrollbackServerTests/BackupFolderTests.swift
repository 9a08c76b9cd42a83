import Dispatch
import Foundation
import SQLiteSupport
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import Synchronization
import TestSupport
import Testing

@testable import ScrollbackServer

/// Backups of an open store that an administrator starts, at times that the tests choose.
@Suite("Backups in the folder of the server")
struct BackupFolderTests {
    private let temporary: TemporaryFolder
    private let data: URL
    private let folder: URL
    private let store: SQLiteStore
    private let engine: Engine
    private let log = LogRecorder()
    private let time = ManualTime()

    init() throws {
        temporary = try TemporaryFolder()
        data = temporary.url.appending(component: "data", directoryHint: .isDirectory)
        folder = temporary.url.appending(component: "backups", directoryHint: .isDirectory)
        store = try SQLiteStore(directory: data)
        engine = try Engine(store: store, execution: .inline)
        for name in ["secrets.json", "admin.key"] { try Data(name.utf8).write(to: data.appending(component: name)) }
        try importMessages(1...3)
    }

    private func importMessages(_ numbers: ClosedRange<UInt64>) throws {
        let messages = numbers.map { number in
            ImportedMessage(
                sender: "alice", sentAt: Date(timeIntervalSince1970: 1_700_000_000),
                submission: Submission(id: MessageID(high: 1, low: number), content: .text("hello")))
        }
        let admin = Caller(user: "admin", isAdmin: true)
        // The engine answers before its function returns.
        nonisolated(unsafe) var answer: Result<ImportReport, ChatError>?
        engine.importHistory(messages, into: .direct(between: "alice", and: "bob"), by: admin) { answer = $0 }
        _ = try #require(answer).get()
    }

    private func make(write: @escaping BackupFolder.Write = Backup.write) throws -> BackupFolder {
        try BackupFolder(folder, of: data, logger: log.logger, clock: { [time] in time.now }, write: write)
    }

    private func end(of backups: BackupFolder) async throws -> BackupList {
        try await eventually("the backup ends") {
            let list = try backups.list()
            return list.running == nil ? list : nil
        }
    }

    private func names(_ directory: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
    }

    private func refusal(_ body: () throws -> Void) -> ChatError? {
        do {
            try body()
            return nil
        } catch {
            return error as? ChatError
        }
    }

    @Test("A backup of an open store has the time as its name, and can be restored")
    func restore() async throws {
        let backups = try make()
        #expect(try backups.list() == BackupList())
        let progress = try backups.start()
        #expect(progress.name == "2026-11-29T023000Z" && progress.startedAt == time.now)
        let list = try await end(of: backups)
        let directory = folder.appending(component: progress.name)
        let manifest = try Backup.check(directory)
        #expect(
            list
                == BackupList(backups: [
                    BackupSummary(
                        name: progress.name, createdAt: time.now, bytes: manifest.bytes, conversations: 1, messages: 3)
                ]))
        #expect(try names(folder) == [progress.name])
        // The store goes on, and the backup stays as it is.
        try importMessages(4...5)
        let restored = temporary.url.appending(component: "restored", directoryHint: .isDirectory)
        #expect(try Backup.restore(directory, to: restored).contents.messages == 3)
        #expect(try names(restored).contains("admin.key"))
        let copy = try SQLiteStore(directory: restored)
        #expect(copy.generation != store.generation)
        try copy.close()
        time.advance(by: 60)
        #expect(try backups.start().name == "2026-11-29T023100Z")
        #expect(try await end(of: backups).backups.map(\.messages) == [5, 3])
    }

    @Test("While a backup is running, a second one is refused")
    func oneAtATime() async throws {
        let gate = DispatchSemaphore(value: 0)
        let backups = try make { (data, directory, now, progress) throws(ChatError) in
            progress(4_096, 8_192)
            gate.wait()
            return try Backup.write(of: data, to: directory, now: now, progress: progress)
        }
        let first = try backups.start()
        try await eventually("the copy begins") { try backups.list().running?.totalBytes }
        let running = try backups.list().running
        #expect(running?.name == first.name && running?.copiedBytes == 4_096 && running?.totalBytes == 8_192)
        // Also in the same second, when both have the same name.
        for _ in 0..<2 {
            let error = refusal { _ = try backups.start() }
            #expect(error?.code == .conflict && error?.message.contains(first.name) == true, "\(error as Any)")
            time.advance(by: 1)
        }
        gate.signal()
        #expect(try await end(of: backups).backups.map(\.name) == [first.name])
        gate.signal()
        let second = try backups.start()
        #expect(try await end(of: backups).backups.map(\.name) == [second.name, first.name])
    }

    @Test("A second backup in the same second is refused, and leaves the first one")
    func sameSecond() async throws {
        let backups = try make()
        let first = try backups.start()
        _ = try await end(of: backups)
        let error = refusal { _ = try backups.start() }
        #expect(error?.code == .conflict && error?.message.contains("a second later") == true, "\(error as Any)")
        let list = try backups.list()
        #expect(list.running == nil && list.failure == nil && list.backups.map(\.name) == [first.name])
    }

    @Test("A backup that fails leaves no files, and its error is shown until a backup succeeds")
    func failure() async throws {
        let key = data.appending(component: "admin.key")
        try FileManager.default.removeItem(at: key)
        let backups = try make()
        let first = try backups.start()
        var list = try await end(of: backups)
        #expect(list.failure?.name == first.name && list.failure?.failedAt == time.now)
        #expect(list.failure?.error.contains("admin.key") == true && list.backups.isEmpty, "\(list)")
        #expect(try names(folder) == [])
        #expect(log.lines.contains { $0.hasPrefix("A backup failed.") && $0.contains("admin.key") }, "\(log.lines)")

        try Data("key".utf8).write(to: key)
        time.advance(by: 1)
        let second = try backups.start()
        list = try await end(of: backups)
        #expect(list.failure == nil && list.backups.map(\.name) == [second.name])
    }

    @Test("A full disk is shown as the error of the backup, and the next backup starts")
    func fullDisk() async throws {
        let backups = try make { (_, _, _, _) throws(ChatError) in
            throw ChatError(.storageFull, "The file can't be written. No space is left.")
        }
        for _ in 0..<2 {
            let progress = try backups.start()
            let failure = try await end(of: backups).failure
            #expect(failure?.name == progress.name && failure?.error.contains("No space is left.") == true)
            time.advance(by: 1)
        }
    }

    @Test("A folder that can't be written is an error that names it, until it is repaired")
    func unusableFolder() async throws {
        let backups = try make()
        let files = FileManager.default
        try files.removeItem(at: folder)
        for replacement in [nil, Data("a file".utf8)] {
            if let replacement { try replacement.write(to: temporary.url.appending(component: "backups")) }
            for error in [
                refusal { _ = try backups.start() }, refusal { _ = try backups.list() },
            ] {
                #expect(error?.code == .conflict && error?.parameter == "backups", "\(error as Any)")
                #expect(error?.message.contains(folder.path) == true, "\(error as Any)")
            }
        }
        #expect(
            refusal { _ = try make() }?.parameter == "backups", "A server does not start with a file as its folder.")
        try files.removeItem(at: temporary.url.appending(component: "backups"))
        try files.createDirectory(at: folder, withIntermediateDirectories: false)
        _ = try backups.start()
        #expect(try await end(of: backups).backups.count == 1)
    }

    @Test("Backups that were interrupted are removed, except those of other names and those that are being written")
    func interrupted() async throws {
        let files = FileManager.default
        let names = ["2026-11-27T000000Z.partial", "2026-11-28T000000Z.partial", "monday.partial"]
        for name in names {
            let partial = folder.appending(component: name)
            try files.createDirectory(at: partial, withIntermediateDirectories: true)
            try Data("half".utf8).write(to: partial.appending(component: SQLiteStore.fileName))
        }
        let lock = try DirectoryLock(folder.appending(component: names[1]), errorCode: .conflict, "")
        let backups = try make()
        #expect(try self.names(folder) == Array(names[1...]))
        #expect(try backups.list().backups.isEmpty)
        lock.release()
        let progress = try backups.start()
        _ = try await end(of: backups)
        #expect(try self.names(folder) == [progress.name, names[2]])
    }

    @Test("A backup removes the links of an interrupted backup, and keeps those of a running one")
    func links() async throws {
        let media = MediaDirectory(in: data).root
        let files = FileManager.default
        for name in ["backup-1", "backup-2"] {
            try files.createDirectory(at: media.appending(component: name), withIntermediateDirectories: true)
        }
        let lock = try DirectoryLock(media.appending(component: "backup-2"), errorCode: .conflict, "")
        let backups = try make()
        _ = try backups.start()
        #expect(try await end(of: backups).failure == nil)
        #expect(try names(media) == ["backup-2"])
        lock.release()
        time.advance(by: 1)
        _ = try backups.start()
        #expect(try await end(of: backups).failure == nil)
        #expect(try names(media) == [])
    }

    @Test("The list has the newest complete backups whose names are times")
    func list() async throws {
        let backups = try make()
        let files = FileManager.default
        let first = folder.appending(component: try backups.start().name)
        _ = try await end(of: backups)
        for hour in 10..<22 {
            try files.copyItem(at: first, to: folder.appending(component: "2026-12-01T\(hour)0000Z"))
        }
        try files.copyItem(at: first, to: folder.appending(component: "monday"))
        // Backups whose manifest is missing or changed are not complete.
        try files.createDirectory(
            at: folder.appending(component: "2026-12-02T000000Z"), withIntermediateDirectories: true)
        try Data("{}".utf8).write(to: folder.appending(path: "2026-12-01T210000Z/\(BackupManifest.fileName)"))
        let expected = (11..<21).reversed().map { "2026-12-01T\($0)0000Z" }
        #expect(try backups.list().backups.map(\.name) == expected)
        #expect(expected.count == BackupList.maximum)
    }

    @Test("The list says whether backups contain the files")
    func filesElsewhere() throws {
        let backups = try make()
        #expect(try backups.list().includesFiles)
        try DirectoryMarker.s3.create(in: data, naming: "bucket")
        #expect(try !backups.list().includesFiles)
    }

    @Test("A server without the option refuses backups, and one with a PostgreSQL store refuses the option")
    func options() throws {
        var options = ServerOptions(directory: data)
        func message() throws -> String? {
            let writer = try options.makeBackupWriter(logger: log.logger)
            let error = refusal { _ = try writer.start() }
            #expect(error?.code == .conflict && error?.parameter == nil)
            return error?.message
        }
        #expect(try message() == NoBackupWriter.standardMessage)
        options.storeURL = "postgres://localhost/chat"
        #expect(try message()?.contains("pg_dump") == true)
        options.backups = folder.path
        #expect(refusal { _ = try options.makeBackupWriter(logger: log.logger) }?.parameter == "backups")
        #expect(!FileManager.default.fileExists(atPath: folder.path))
        options.storeURL = nil
        #expect(try options.makeBackupWriter(logger: log.logger).list() == BackupList())
        #expect(FileManager.default.fileExists(atPath: folder.path))
    }
}

private final class ManualTime: Sendable {
    private let date = Mutex(Date(timeIntervalSince1970: 1_795_919_400))

    var now: Date { date.withLock { $0 } }

    func advance(by seconds: TimeInterval) { date.withLock { $0 += seconds } }
}
