import ArgumentParser
import Foundation
import Logging
import ScrollbackModel
import ScrollbackServer

struct Move: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Move the messages of a data directory to a PostgreSQL database, and its files to an S3 store.",
        discussion: """
            The server must not be running. The command copies all rows, reads them back and compares them. If it is \
            interrupted, run it again: it continues after the last row that the database has. Clients notice nothing, \
            because IDs, positions and tokens stay the same.

            Afterwards, start the server with the same --data, --store and --files. The data directory keeps its keys, \
            and the files if they were not moved. The old messages stay there in scrollback.sqlite.moved until you \
            delete them.

            With --files, clients begin unfinished uploads again.

            For a server started with `make run`, after it was stopped:
              scrollback move --store postgres://localhost/scrollback
              scrollback serve --store postgres://localhost/scrollback
            """)

    @Option(help: "The data directory.")
    var data = "./scrollback-data"

    @Option(
        help: """
            The URL of an empty PostgreSQL database, such as postgres://user@host:5432/database. Prefer \
            SCROLLBACK_STORE_URL if it contains a password.
            """)
    var store: String?

    @Option(
        help: """
            The bucket of an S3-compatible store for files, in the form of the option --files of `scrollback serve` \
            (default: the files stay in the data directory).
            """)
    var files: String?

    @Flag(help: "Delete the copy of an interrupted move and begin again.")
    var restart = false

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        try await reporting {
            guard let url = store ?? ProcessInfo.processInfo.environment["SCROLLBACK_STORE_URL"] else {
                throw ChatError.invalidParameter("store", "is missing: pass the URL of a PostgreSQL database")
            }
            let move = StoreMove(
                of: URL(filePath: data, directoryHint: .isDirectory), to: url, filesURL: files, restarts: restart)
            var progress = StepProgress()
            let summary = try await move.run(logger: Logger(label: "scrollback")) {
                progress.show($0.rawValue, $1, of: $2)
            }
            progress.finish()
            report(summary)
        }
    }

    private func report(_ summary: StoreMove.Summary) {
        for blob in summary.files?.missing ?? [] {
            Output.error("warning: the data directory does not have the file \(blob), so it was not copied.")
        }
        if json {
            Output.json { writer in
                writer.field("rows", summary.rows)
                writer.field("files", summary.files?.files)
                writer.field("fileBytes", summary.files?.bytes)
                writer.field("missingFiles", summary.files?.missing.count)
                writer.field("oldFile", summary.oldFile.path)
            }
            return
        }
        let files = summary.files.map { " and \($0.files) files (\($0.bytes) bytes)" } ?? ""
        Output.line("moved \(summary.rows) rows\(files), and compared every row with its copy")
        Output.line("start the server with --store\(summary.files == nil ? "" : " and --files") from now on")
        Output.line("delete \(summary.oldFile.path) when you don't need it any more")
    }
}
