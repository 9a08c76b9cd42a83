import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackServer

struct Backup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Create a backup of a data directory, even while its server is running.",
        discussion: """
            DIR gets a consistent copy of the store, the media files, and a manifest with checksums. The copy contains \
            every message that was acknowledged before the backup started. It also contains the secrets that sign \
            tokens and the administrator token, so protect it like the data directory itself. DIR is created when the \
            backup is complete. The search index is not part of a backup and is rebuilt after a restore. Files in an \
            S3 store are not part of it either.

            For a server started with `make run`:
              scrollback backup ./monday
              scrollback verify ./monday
              scrollback restore ./monday --data ./restored-data
              scrollback serve --data ./restored-data --port 8081
            """)

    @Argument(
        help: ArgumentHelp("The directory for the backup. It must not exist, or must be empty.", valueName: "dir"))
    var directory: String

    @Option(help: "The server's data directory.")
    var data = "./scrollback-data"

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        try await reporting {
            let url = URL(filePath: directory, directoryHint: .isDirectory)
            var progress: Progress?
            let manifest = try ScrollbackServer.Backup.write(
                of: URL(filePath: data, directoryHint: .isDirectory), to: url
            ) { done, total in
                if progress == nil { progress = Progress("backing up", total: Int(total), isBytes: true) }
                progress?.show(Int(done))
            }
            progress?.finish(progress?.total ?? 0)
            if DirectoryMarker.s3.exists(in: url) {
                Output.error("warning: the files are in an S3 store, and are not part of the backup.")
            }
            if json {
                Output.json { writer in
                    writer.field("backup", url.path)
                    manifest.writeMembers(to: &writer)
                }
            } else {
                Output.line(
                    "backed up \(manifest.messages) messages of \(manifest.conversations) conversations, "
                        + "\(manifest.bytes) bytes, into \(url.path)")
            }
        }
    }
}

extension BackupManifest {
    func writeMembers(to writer: inout JSONWriter) {
        writer.field("createdAt", createdAt)
        writer.field("schema", schema)
        writer.field("generation", generation)
        writer.field("conversations", conversations)
        writer.field("messages", messages)
        writer.field("bytes", bytes)
    }
}
