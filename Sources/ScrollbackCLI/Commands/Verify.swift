import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackSQLite

struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check the integrity of a data directory.",
        discussion: """
            Places dense, running numbers and times rising, counts equal to a recount, indexes whole. The server must not \
            be running on the directory.
            """)

    @Argument(help: "The data directory.")
    var directory = "./scrollback-data"

    @Flag(help: "One JSON object a line: each violation, then a summary.")
    var json = false

    func run() async throws {
        try await reporting {
            let url = URL(filePath: directory, directoryHint: .isDirectory)
            guard FileManager.default.fileExists(atPath: url.appending(path: "scrollback.sqlite").path) else {
                throw ChatError.invalidParameter("directory", "is no data directory: \(url.path)")
            }
            let store = try SQLiteStore(directory: url)
            defer { try? store.close() }
            var progress: Progress?
            let violations = try store.verify { step in
                if progress == nil { progress = Progress("checking", total: Int(step.totalConversations)) }
                progress?.show(Int(step.conversations), "\(step.messages) messages")
            }
            for violation in violations {
                if json { Output.json { $0.field("violation", violation) } } else { Output.line(violation) }
            }
            if json {
                Output.json { $0.field("violations", violations.count) }
            } else {
                Output.line(violations.isEmpty ? "whole: no violations" : "\(violations.count) violations")
            }
            if !violations.isEmpty { throw Exit.failed }
        }
    }
}
