import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization
import TestSupport
import Testing

/// The requests of administrators for backups, which the server writes.
@Suite("Requests for backups")
struct BackupRequestTests {
    private let admin = EngineHarness.admin
    private let progress = BackupProgress(
        name: "2026-11-29T023000Z", startedAt: Date(timeIntervalSince1970: 1_795_919_400))

    private func recorded(_ harness: EngineHarness) throws -> [AuditEntry] {
        try harness.perform(ListAudit(action: .startBackup, page: Paging(limit: 10)), by: admin).acts
    }

    @Test("Starting a backup is recorded in the audit log with the name of the backup")
    func audit() throws {
        let writer = RecordingBackupWriter(progress)
        let harness = try EngineHarness(backups: writer)
        #expect(try harness.perform(StartBackup(), by: admin).progress == progress)
        #expect(writer.starts == 1)
        let acts = try recorded(harness)
        #expect(acts.map(\.row.detail) == [progress.name])
        #expect(acts.map(\.row.actor) == [admin.user])
    }

    @Test("A refused start is an error, and is not recorded")
    func refused() throws {
        let harness = try EngineHarness()
        let error = refusal { _ = try harness.perform(StartBackup(), by: admin) }
        #expect(error?.code == .conflict && error?.message.contains("--backups") == true)
        #expect(refusal { _ = try harness.perform(ListBackups(), by: admin) } == error)
        #expect(try recorded(harness).isEmpty)
    }

    @Test("Users can neither start nor list backups")
    func users() throws {
        let writer = RecordingBackupWriter(progress)
        let harness = try EngineHarness(backups: writer)
        let alice = Caller(user: "alice")
        #expect(refusal { _ = try harness.perform(StartBackup(), by: alice) }?.code == .forbidden)
        #expect(refusal { _ = try harness.perform(ListBackups(), by: alice) }?.code == .forbidden)
        #expect(writer.starts == 0)
    }

    @Test("The list has the running backup, the failure of the last one, and the complete ones")
    func list() throws {
        let writer = RecordingBackupWriter(progress)
        let harness = try EngineHarness(backups: writer)
        func text() throws -> String {
            var writer = JSONWriter()
            let answer = try harness.perform(ListBackups(), by: admin)
            writer.object { answer.writeMembers(to: &$0) }
            return writer.text
        }
        #expect(try text() == #"{"backups":[],"includesFiles":true}"#)
        let start = #""name":"2026-11-29T023000Z","startedAt":"2026-11-29T02:30:00.000Z","copiedBytes":"#
        writer.answer.withLock { $0.running = progress }
        #expect(try text() == #"{"running":{\#(start)0},"backups":[],"includesFiles":true}"#)
        writer.answer.withLock { list in
            list.running?.copiedBytes = 4_096
            list.running?.totalBytes = 8_192
        }
        #expect(
            try text() == #"{"running":{\#(start)4096,"totalBytes":8192},"backups":[],"includesFiles":true}"#)
        writer.answer.withLock { list in
            list = BackupList(
                failure: BackupFailure(name: "b", failedAt: progress.startedAt, error: "No space is left."),
                backups: [
                    BackupSummary(name: "a", createdAt: progress.startedAt, bytes: 1, conversations: 2, messages: 3)
                ], includesFiles: false)
        }
        let time = #""2026-11-29T02:30:00.000Z""#
        #expect(
            try text() == #"{"failure":{"name":"b","failedAt":\#(time),"error":"No space is left."},"#
                + #""backups":[{"name":"a","createdAt":\#(time),"bytes":1,"conversations":2,"messages":3}],"#
                + #""includesFiles":false}"#)
    }
}

private final class RecordingBackupWriter: BackupWriter {
    private let progress: BackupProgress
    private let startCount = Mutex(0)
    let answer = Mutex(BackupList())

    init(_ progress: BackupProgress) {
        self.progress = progress
    }

    var starts: Int { startCount.withLock { $0 } }

    func start() -> BackupProgress {
        startCount.withLock { $0 += 1 }
        return progress
    }

    func list() -> BackupList { answer.withLock { $0 } }
}
