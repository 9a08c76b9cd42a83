import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackServer

struct Backup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Copy a data directory while its server runs, or while it doesn't.",
        discussion: """
            DIR gets the store as it is at one moment (every message that was acknowledged before is in it) and a manifest \
            with checksums. The secrets that sign tokens and the admin key are in it too, so keep it as safe as the data \
            directory itself. It gets its name once it is whole and on disk. The search index is not in it: it is made anew.

            Beside `make run`:
              scrollback backup ./monday
              scrollback verify ./monday
              scrollback restore ./monday --data ./restored-data
              scrollback serve --data ./restored-data --port 8081
            """)

    @Argument(help: ArgumentHelp("Where the backup goes: a directory that is not there yet.", valueName: "dir"))
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
                if progress == nil { progress = Progress("backing up", total: Int(total)) }
                progress?.show(Int(done))
            }
            progress?.finish(progress?.total ?? 0)
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
