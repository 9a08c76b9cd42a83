import ArgumentParser
import Foundation
import ScrollbackModel

/// The option that limits a command to one conversation.
struct BanScopeOptions: ParsableArguments {
    @Option(
        name: .customLong("in"), help: "The conversation (default: the whole server).",
        transform: { text in try checked { () throws(ChatError) in try ConversationID(text) } })
    var conversation: ConversationID?

    /// The API path of bans.
    var path: String { conversation.map { ServerAPI.path($0, "/bans") } ?? "/v1/bans" }
}

struct AdminBan: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ban", abstract: "Ban a user from the server or from a conversation.")

    @Argument(help: "The user to ban.", transform: ScrollbackCLI.user)
    var user: UserID

    @OptionGroup var scope: BanScopeOptions

    @Option(
        name: .customLong("for"),
        help: "The duration with the unit s, m, h or d, for example 12h (default: permanent).",
        transform: { text in try seconds(text) })
    var duration: Double?

    @Option(help: "The reason, visible to the banned user.")
    var reason: String?

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            try await connection.adminAPI().perform("PUT", "\(scope.path)/\(ServerAPI.escape(user))") { writer in
                writer.field("expiresIn", duration)
                writer.field("reason", reason)
            }
            if connection.json {
                Output.json { writer in
                    writer.field("user", user)
                    writer.field("banned", true)
                }
            } else {
                Output.line("\(user) is banned")
            }
        }
    }
}

struct AdminUnban: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "unban", abstract: "Lift a user's ban.")

    @Argument(help: "The banned user.", transform: ScrollbackCLI.user)
    var user: UserID

    @OptionGroup var scope: BanScopeOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            try await connection.adminAPI().perform("DELETE", "\(scope.path)/\(ServerAPI.escape(user))")
            if connection.json {
                Output.json { writer in
                    writer.field("user", user)
                    writer.field("banned", false)
                }
            } else {
                Output.line("\(user) is not banned")
            }
        }
    }
}

struct AdminBans: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "bans", abstract: "List banned users, sorted by user.")

    @OptionGroup var scope: BanScopeOptions
    @OptionGroup var list: ListOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            try await connection.adminAPI().print(scope.path, "bans", list, json: connection.json) { ban in
                joined(
                    ban["user"], ban["until"].isEmpty ? "permanent" : "until \(ban["until"])", "by \(ban["by"])",
                    ban["reason"])
            }
        }
    }
}

/// Parses a duration such as `90s`, `30m`, `12h` or `7d` and returns seconds.
func seconds(_ text: String) throws -> Double {
    let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
    guard let unit = text.last.flatMap({ units[$0] }), let number = Double(text.dropLast()), number > 0,
        (number * unit).isFinite
    else { throw ValidationError("A duration must be a number with the unit s, m, h or d, for example 7d.") }
    return number * unit
}
