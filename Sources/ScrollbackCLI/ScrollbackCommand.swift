import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackServer

@main
enum Main {
    static func main() async {
        // Ignore SIGPIPE, so that a closed output results in a write error instead of killing the process.
        signal(SIGPIPE, SIG_IGN)
        await ScrollbackCommand.main()
    }
}

struct ScrollbackCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scrollback",
        abstract: "Run a Scrollback chat server, or use one from the command line.",
        discussion: """
            Start a server with `scrollback serve`, create a token with `scrollback token alice`, and chat with \
            `scrollback chat group:swift --as alice`. Every command supports --json for scripts: it then prints only \
            JSON objects to standard output, one per line.

            Exit codes: 0 success, 1 the operation failed, 64 invalid usage, 69 the server is unreachable.
            """,
        version: Server.version,
        subcommands: [
            Serve.self, Token.self, Import.self, Export.self, Send.self, Download.self, Edit.self, Delete.self,
            React.self,
            History.self, Search.self, Count.self, Recents.self, Read.self, Unread.self, Pin.self, Mute.self,
            Clear.self, Listen.self, Chat.self, Conversations.self, Members.self, Pins.self, Threads.self,
            Schedule.self,
            Drafts.self, People.self, Profile.self, Receipts.self,
            Settings.self, Push.self, Admin.self, Cluster.self, Backup.self, Restore.self, Move.self, Verify.self,
            Doctor.self,
        ])
}

/// The exit codes of commands, besides success.
enum Exit {
    static let failed = ExitCode(1)
    static let unreachable = ExitCode(69)
}

/// Runs a command's body.
///
/// Prints a `ChatError` to standard error and converts it to an exit code.
func reporting(_ body: () async throws -> Void) async throws {
    do {
        try await body()
    } catch let error as ChatError {
        Output.error("error: \(error.message) (\(error.code))")
        throw error.code == .unreachable ? Exit.unreachable : Exit.failed
    }
}
