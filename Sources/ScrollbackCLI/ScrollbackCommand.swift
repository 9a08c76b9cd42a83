import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackServer

@main
enum Main {
    static func main() async {
        // A reader that went away is noticed where something is written, not by a signal that kills the process.
        signal(SIGPIPE, SIG_IGN)
        await ScrollbackCommand.main()
    }
}

struct ScrollbackCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scrollback",
        abstract: "A chat server on embedded SQLite, and a client for it.",
        discussion: """
            Start a server with `scrollback serve`, make a token with `scrollback token alice`, and talk with \
            `scrollback chat group:swift --as alice`. Every command takes --json for scripts: one object a line on \
            standard output, and nothing else there.

            Exit codes: 0 done, 1 the operation failed, 64 wrong usage, 69 the server can't be reached.
            """,
        version: Server.version,
        subcommands: [
            Serve.self, Token.self, Import.self, Export.self, Send.self, Download.self, Edit.self, Delete.self,
            React.self,
            History.self, Search.self, Count.self, Recents.self, Read.self, Unread.self, Pin.self, Mute.self,
            Clear.self, Listen.self, Chat.self, Members.self, Receipts.self,
            Settings.self, Push.self, Admin.self, Backup.self, Restore.self, Verify.self,
            Doctor.self,
        ])
}

/// How commands end.
enum Exit {
    static let failed = ExitCode(1)
    static let unreachable = ExitCode(69)
}

/// Runs a command's body, and turns what went wrong into a line on standard error and an exit code.
func reporting(_ body: () async throws -> Void) async throws {
    do {
        try await body()
    } catch let error as ChatError {
        Output.error("error: \(error.message) (\(error.code))")
        throw error.code == .unreachable ? Exit.unreachable : Exit.failed
    }
}
