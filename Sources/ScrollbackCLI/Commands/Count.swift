import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackWire

struct Count: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Count the messages of conversations since a time.",
        discussion: """
            --since is inclusive. If the server keeps messages forever, it may limit counts to the last days (see \
            `scrollback settings`).

            With the demo community of `make run`:
              scrollback count community:harbour/general community:harbour/weather --as mei
              scrollback count group:albatross --as alice --since 2026-01-01T00:00:00Z
            """)

    @Argument(
        help: ArgumentHelp("The conversations, 1...500 of them.", valueName: "conversation"),
        transform: { text in try checked { () throws(ChatError) in try ConversationID(text) } })
    var conversations: [ConversationID]

    @Option(
        name: .customLong("as"), help: "The user whose visible messages are counted.", transform: ScrollbackCLI.user)
    var user: UserID

    @Option(help: "The start: a timetoken, or an ISO 8601 time. 0 is the beginning.")
    var since = "0"

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let time = try since.contains("-") ? Timetoken(Date(iso8601: since, parameter: "since")) : Timetoken(since)
            let answers = try await connection.api(as: user).object("POST", "/v1/history/counts") { writer in
                writer.key("since")
                writer.object { writer in
                    for id in Set(conversations) {
                        writer.key(escaping: id.description)
                        writer.value(time.description)
                    }
                }
            } read: { (reader) throws(ChatError) in
                try CountMessages.Answer(from: &reader)
            }.counts
            var failure: ChatError?
            for (id, count) in answers.sorted(by: { $0.conversation < $1.conversation }) {
                switch count {
                case .failure(let error):
                    Output.error("\(id): \(error.message)")
                    failure = failure ?? error
                case .success(let count) where connection.json:
                    Output.json { writer in
                        writer.field("conversation", id)
                        writer.field("count", count)
                    }
                case .success(let count): Output.line("\(id)  \(count)")
                }
            }
            if let failure { throw failure }
        }
    }
}

struct Settings: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print or change the server's settings.",
        discussion: """
            Without options, the command prints the settings. For a server started with `make run`:
              scrollback settings
              scrollback settings --retention-days 30 --count-window-days none
            """)

    @Option(help: "The retention time of messages in days, at least 1, or forever.")
    var retentionDays: String?

    @Option(help: "The maximum age of counted messages in days if messages are kept forever, or none for no limit.")
    var countWindowDays: String?

    @Option(help: "Whether clients can read history: true or false. Does not affect the delivery of new messages.")
    var allowsHistory: Bool?

    @Option(help: "Whether ranges of history can be deleted: true or false.")
    var allowsHistoryDelete: Bool?

    @Option(help: "Whether recalling a message decreases unread counts: true or false.")
    var recallLowersUnread: Bool?

    @Option(help: "The maximum age in days of missed messages that a reconnecting device receives.")
    var replayDays: Int?

    @Option(help: "Whether members can see read and delivery receipts: true or false.")
    var readReceipts: Bool?

    @Option(help: "Whether users can see the presence of users who share it: true or false.")
    var presence: Bool?

    @Option(help: "Whether groups get notices about changes of their members and settings: true or false.")
    var notices: Bool?

    @Option(help: "The users that a search of the directory finds: nobody, sharedConversations or everyone.")
    var directory: String?

    @OptionGroup var connection: ConnectionOptions

    // An error of `run` would show the usage of `scrollback` instead of that of this command.
    func validate() throws {
        _ = try retention
        _ = try countWindow
    }

    private var retention: String?? {
        get throws { try number(retentionDays, or: "forever", "retention-days") }
    }

    private var countWindow: String?? {
        get throws { try number(countWindowDays, or: "none", "count-window-days") }
    }

    func run() async throws {
        try await reporting {
            let retention = try retention
            let window = try countWindow
            let isChange =
                retention != nil || window != nil || allowsHistory != nil || allowsHistoryDelete != nil
                || recallLowersUnread != nil || replayDays != nil || readReceipts != nil || presence != nil
                || notices != nil || directory != nil
            let api = try connection.adminAPI()
            let body: (inout JSONWriter) -> Void = { writer in
                if let retention { writer.field("retentionDays", RawJSON(known: retention ?? #""forever""#)) }
                if let window { writer.field("countWindowDays", RawJSON(known: window ?? "null")) }
                writer.field("allowsHistory", allowsHistory)
                writer.field("allowsHistoryDelete", allowsHistoryDelete)
                writer.field("recallLowersUnread", recallLowersUnread)
                writer.field("replayDays", replayDays)
                writer.field("readReceipts", readReceipts)
                writer.field("presence", presence)
                writer.field("notices", notices)
                writer.field("directory", directory)
            }
            let settings = try await api.object(isChange ? "PUT" : "GET", "/v1/settings", body: isChange ? body : nil) {
                (reader) throws(ChatError) in try reader.raw()
            }
            if connection.json { return Output.json(settings) }
            var reader = JSONReader(settings.text)
            try reader.object { (name, value) throws(ChatError) in Output.line("\(name)  \(try value.raw().text)") }
        }
    }

    /// Parses a number of days, or the word for no limit.
    ///
    /// The outer optional is `nil` if the option was not given.
    private func number(_ text: String?, or word: String, _ option: String) throws -> String?? {
        guard let text else { return .none }
        if text == word { return .some(nil) }
        guard let days = Int(text), days > 0 else {
            throw ValidationError("--\(option) must be a number of days above 0, or \(word).")
        }
        return .some(String(days))
    }
}
