package import ScrollbackModel
package import ScrollbackWire

/// Starts a backup of the server.
package struct StartBackup: ChatOperation {
    package static let endpoint = Endpoint(
        http: .post("/v1/admin/backups"), scope: .admin, callers: .administrator, cost: .write, tag: .server,
        summary: "Start a backup of the server",
        details: """
            The server writes the backup into a new folder in the folder of its option `--backups`, and goes on \
            serving. `GET /v1/admin/backups` shows the progress and the result. A server without the option, with a \
            PostgreSQL store, with a folder that it can't write, or with a running backup answers 409.
            """,
        errors: [409])

    package struct Answer: OperationAnswer {
        package static let schema = BackupProgress.schema
        package static let statuses = [202]

        package var progress: BackupProgress

        package func writeMembers(to writer: inout JSONWriter) {
            progress.writeMembers(to: &writer)
        }
    }

    package init() {}

    package init(from request: inout RequestReader) throws(ChatError) {}
}

extension StartBackup: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        let progress = try engine.backups.start()
        engine.auditInBackground(.startBackup, by: caller, detail: progress.name)
        return Answer(progress: progress)
    }
}

extension BackupProgress {
    package static let schema: JSONSchema? = .component("BackupProgress")

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("name", name)
        writer.field("startedAt", startedAt)
        writer.field("copiedBytes", copiedBytes)
        writer.field("totalBytes", totalBytes)
    }
}
