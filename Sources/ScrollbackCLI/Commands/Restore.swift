import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackServer
import ScrollbackSQLite

struct Restore: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Restore a backup to a new data directory, or announce that a directory was put back.",
        discussion: """
            The data directory must not contain a store. To replace one, stop its server and move the directory away. \
            The command rejects backups with changed or incomplete files.

            The restored store has a new generation. Clients detect it when they reconnect and synchronize again: they \
            send their queued messages, and messages from after the backup disappear.

            With --in-place and without a backup, the command only gives the store of a stopped server a new \
            generation. Use it before you start the server on a data directory that was put back by other means, such \
            as a snapshot of the volume. The server also detects this itself when a client connects that has seen more.

            The backup contains users that were erased later. To erase them again, use --erasures with the \
            erasures.jsonl of the replaced data directory.

            Files in an S3 store stay as they are.

            If the backup's files are encrypted, the command needs the storage encryption keys to verify them.

            For a server started with `make run`:
              scrollback backup ./monday
              scrollback restore ./monday --data ./restored-data
              scrollback serve --data ./restored-data --port 8081
            """)

    @Argument(help: ArgumentHelp("The directory of the backup.", valueName: "dir"))
    var directory: String?

    @Flag(help: "Give an existing data directory a new generation instead of restoring a backup.")
    var inPlace = false

    @Option(help: "The data directory to create; with --in-place, the data directory to change.")
    var data = "./scrollback-data"

    @Option(
        help: """
            The erasures.jsonl of the replaced data directory or of a later backup. The server erases its users again \
            when it starts.
            """)
    var erasures: String?

    @OptionGroup var storeKeyOptions: StoreKeyOptions

    @Flag(help: "Print a JSON object.")
    var json = false

    func validate() throws {
        if inPlace, directory != nil || erasures != nil {
            throw ValidationError("--in-place takes neither a backup nor --erasures.")
        }
        if !inPlace, directory == nil {
            throw ValidationError("Name the directory of the backup, or pass --in-place.")
        }
    }

    func run() async throws {
        guard let directory else { return try await renewGeneration() }
        try await reporting {
            let url = URL(filePath: data, directoryHint: .isDirectory)
            var progress: Progress?
            let (manifest, contents, erased) = try ScrollbackServer.Backup.restore(
                URL(filePath: directory, directoryHint: .isDirectory), to: url,
                erasures: erasures.map { URL(filePath: $0) }, keys: try storeKeyOptions.keysFromEnvironment()
            ) { done, total in
                if progress == nil { progress = Progress("restoring", total: Int(total), isBytes: true) }
                progress?.show(Int(done))
            }
            progress?.finish(progress?.total ?? 0)
            if json {
                Output.json { writer in
                    writer.field("data", url.path)
                    writer.field("createdAt", manifest.createdAt)
                    writer.field("schema", contents.schema)
                    writer.field("generation", String(contents.generation))
                    writer.field("conversations", contents.conversations)
                    writer.field("messages", contents.messages)
                    writer.field("erasures", erased)
                }
            } else {
                Output.line(
                    "restored \(contents.messages) messages of \(contents.conversations) conversations, as of "
                        + "\(manifest.createdAt.iso8601), into \(url.path)")
                if let erased, erased > 0 {
                    Output.line("the server will erase \(erased) erased users again when it starts")
                }
            }
            if DirectoryMarker.s3.exists(in: url) {
                Output.error(
                    "warning: the files are in an S3 store, and were not restored. Start the server with --files.")
            }
            if erased == nil {
                Output.error(
                    "warning: users that were erased after the backup reappear. To prevent that, copy erasures.jsonl "
                        + "of the old directory to \(url.path) before the server starts.")
            }
        }
    }

    private func renewGeneration() async throws {
        try await reporting {
            let url = URL(filePath: data, directoryHint: .isDirectory)
            let contents = try SQLiteStore.renewGeneration(
                in: url, keys: try storeKeyOptions.keysFromEnvironment(), at: Date())
            if json {
                Output.json { writer in
                    writer.field("data", url.path)
                    writer.field("schema", contents.schema)
                    writer.field("generation", String(contents.generation))
                    writer.field("conversations", contents.conversations)
                    writer.field("messages", contents.messages)
                }
            } else {
                Output.line(
                    "\(url.path) has a new generation: clients synchronize again with its \(contents.messages) "
                        + "messages")
            }
        }
    }
}
