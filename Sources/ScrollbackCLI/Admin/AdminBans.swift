import ArgumentParser
import Foundation
import ScrollbackModel

/// A conversation that a command may be limited to.
struct PlaceOption: ParsableArguments {
    @Option(
        name: .customLong("in"), help: "Of this conversation, instead of the whole server.",
        transform: { text in try checked { () throws(ChatError) in try ConversationID(text) } })
    var conversation: ConversationID?

    /// The path of bans there.
    var path: String { conversation.map { ServerAPI.path($0, "/bans") } ?? "/v1/bans" }
}

struct AdminBan: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ban", abstract: "Keep somebody off the server, or out of a conversation.")

    @Argument(help: "Who.", transform: ScrollbackCLI.user)
    var user: UserID

    @OptionGroup var place: PlaceOption

    @Option(
        name: .customLong("for"), help: "How long: 90s, 30m, 12h, 7d (default: for good).",
        transform: { text in try seconds(text) })
    var duration: Double?

    @Option(help: "Why; told to who is banned.")
    var reason: String?

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            try await connection.adminAPI().perform("PUT", "\(place.path)/\(ServerAPI.escape(user))") { writer in
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
    static let configuration = CommandConfiguration(commandName: "unban", abstract: "Let somebody come back.")

    @Argument(help: "Who.", transform: ScrollbackCLI.user)
    var user: UserID

    @OptionGroup var place: PlaceOption
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            try await connection.adminAPI().perform("DELETE", "\(place.path)/\(ServerAPI.escape(user))")
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
    static let configuration = CommandConfiguration(commandName: "bans", abstract: "List who is banned, by name.")

    @OptionGroup var place: PlaceOption
    @OptionGroup var list: ListOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            try await connection.adminAPI().print(place.path, "bans", list, json: connection.json) { ban in
                joined(
                    ban["user"], ban["until"].isEmpty ? "for good" : "until \(ban["until"])", "by \(ban["by"])",
                    ban["reason"])
            }
        }
    }
}

/// A number of seconds, as people write it.
func seconds(_ text: String) throws -> Double {
    let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
    guard let unit = text.last.flatMap({ units[$0] }), let number = Double(text.dropLast()), number > 0,
        (number * unit).isFinite
    else { throw ValidationError("must be a number and s, m, h or d, for example 7d") }
    return number * unit
}
