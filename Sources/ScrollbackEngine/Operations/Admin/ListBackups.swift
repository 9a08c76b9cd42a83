package import ScrollbackModel
package import ScrollbackWire

/// Lists the backups that the server has written, and the progress of the running one.
package struct ListBackups: ChatOperation {
    package static let endpoint = Endpoint(
        http: .get("/v1/admin/backups"), scope: .admin, callers: .administrator, cost: .read, tag: .server,
        summary: "List the newest backups and the progress of the running one",
        details: """
            The list has at most \(BackupList.maximum) complete backups of the folder of the option `--backups`, those \
            whose names are times. A server without the option, with a PostgreSQL store, or with a folder that it \
            can't write answers 409.
            """,
        errors: [409])

    package struct Answer: OperationAnswer {
        package static let schema: JSONSchema? = .object([
            .init(
                "running", .component("BackupProgress"), isRequired: false,
                "The backup that the server is writing."),
            .init(
                "failure", .component("BackupFailure"), isRequired: false,
                "Why the last backup failed. Absent after a complete backup and after a start of the server."),
            .init("backups", .array(.component("Backup")), "Newest first."),
            .init(
                "includesFiles", .boolean,
                "Whether backups contain the media files. Files in an S3-compatible store are not part of a backup."),
        ])

        package var list: BackupList

        package func writeMembers(to writer: inout JSONWriter) {
            if let running = list.running {
                writer.key("running")
                writer.object { running.writeMembers(to: &$0) }
            }
            if let failure = list.failure {
                writer.key("failure")
                writer.object { writer in
                    writer.field("name", failure.name)
                    writer.field("failedAt", failure.failedAt)
                    writer.field("error", failure.error)
                }
            }
            writer.key("backups")
            writer.array(list.backups) { writer, backup in
                writer.object { writer in
                    writer.field("name", backup.name)
                    writer.field("createdAt", backup.createdAt)
                    writer.field("bytes", backup.bytes)
                    writer.field("conversations", backup.conversations)
                    writer.field("messages", backup.messages)
                }
            }
            writer.field("includesFiles", list.includesFiles)
        }
    }

    package init() {}

    package init(from request: inout RequestReader) throws(ChatError) {}
}

extension ListBackups: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        Answer(list: try engine.backups.list())
    }
}
