import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackServer
import ScrollbackSQLite

struct Restore: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Put a backup into a new data directory.",
        discussion: """
            The data directory must not have a store: move an old one away first, after stopping its server. A backup that \
            was changed or cut short is refused, by the name of the file.

            The restored store has a new generation. Devices notice it at the first answer and start over: what they had \
            queued is sent, and what was said after the backup is gone from them as it is from the server.

            Users that were erased after the backup are in it still. Name the list of them with --erasures: \
            erasures.jsonl in the data directory that was in use.

            Of a backup whose files are sealed each is opened to see that it is what was backed up: that takes the keys.

            Beside `make run`:
              scrollback backup ./monday
              scrollback restore ./monday --data ./restored-data
              scrollback serve --data ./restored-data --port 8081
            """)

    @Argument(help: ArgumentHelp("The backup.", valueName: "dir"))
    var directory: String

    @Option(help: "The data directory to make.")
    var data = "./scrollback-data"

    @Option(
        help: """
            An erasures.jsonl, of the directory that this one takes the place of, or of a later backup: whom it names is \
            erased again when the server starts.
            """)
    var erasures: String?

    @OptionGroup var sealing: StoreKeyOptions

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        try await reporting {
            let url = URL(filePath: data, directoryHint: .isDirectory)
            var progress: Progress?
            let (manifest, contents, erased) = try ScrollbackServer.Backup.restore(
                URL(filePath: directory, directoryHint: .isDirectory), to: url,
                erasures: erasures.map { URL(filePath: $0) }, keys: try sealing.keysFromEnvironment()
            ) { done, total in
                if progress == nil { progress = Progress("restoring", total: Int(total)) }
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
                if let erased, erased > 0 { Output.line("\(erased) erased users are erased again at the start") }
            }
            if erased == nil {
                Output.error(
                    "warning: no erasures.jsonl told who was erased since: if anybody was, put the old directory's into "
                        + "\(url.path) before the server starts, or they are back")
            }
        }
    }
}
