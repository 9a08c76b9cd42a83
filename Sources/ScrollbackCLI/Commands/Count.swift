import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackWire

struct Count: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Count the messages of conversations since a time.",
        discussion: """
            The time is a timetoken or an ISO 8601 time, and is included. Where messages are kept for ever the server may \
            count the last days only (`scrollback settings`).

            Against the demo community of `make run`:
              scrollback count community:harbour/general community:harbour/weather --as mei
              scrollback count group:albatross --as alice --since 2026-01-01T00:00:00Z
            """)

    @Argument(
        help: ArgumentHelp("The conversations, 1...500.", valueName: "conversation"),
        transform: { text in try checked { () throws(ChatError) in try ConversationID(text) } })
    var conversations: [ConversationID]

    @Option(name: .customLong("as"), help: "Who counts.", transform: ScrollbackCLI.user)
    var user: UserID

    @Option(help: "Since when (default: the beginning).")
    var since = "0"

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let time = try since.contains("-") ? Timetoken(Date(iso8601: since, parameter: "since")) : Timetoken(since)
            let answers = try await connection.api(as: user).object("POST", "/v1/history/counts") { writer in
                writer.key("since")
                writer.object { writer in
                    for id in Set(conversations) { writer.field(id.description, time) }
                }
            } read: { (reader) throws(ChatError) in
                try MessageCounts.read(&reader)
            }
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
        abstract: "Show what is set on the server, or change it.",
        discussion: """
            Against the server of `make run`:
              scrollback settings
              scrollback settings --retention-days 30 --count-window-days none
            """)

    @Option(help: "How long messages are kept: days, or forever.")
    var retentionDays: String?

    @Option(help: "How far back counts go where messages are kept for ever: days, or none for all the way.")
    var countWindowDays: String?

    @Option(help: "Whether history can be read back: true or false. Messages are delivered all the same.")
    var allowsHistory: Bool?

    @Option(help: "Whether ranges of history can be deleted: true or false.")
    var allowsHistoryDelete: Bool?

    @Option(help: "Whether a recalled message is taken off unread counts: true or false.")
    var recallLowersUnread: Bool?

    @Option(help: "How many days of what a device missed are replayed when it comes back.")
    var replayDays: Int?

    @Option(help: "Whether it is told who has read what: true or false.")
    var readReceipts: Bool?

    @Option(help: "Whether it is told who is there, of those who share it: true or false.")
    var presence: Bool?

    @Option(help: "Whether changes to a group are written into its log: true or false.")
    var notices: Bool?

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let retention = try number(retentionDays, or: "forever", "retention-days")
            let window = try number(countWindowDays, or: "none", "count-window-days")
            let isChange =
                retention != nil || window != nil || allowsHistory != nil || allowsHistoryDelete != nil
                || recallLowersUnread != nil || replayDays != nil || readReceipts != nil || presence != nil
                || notices != nil
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
            }
            let settings = try await api.object(isChange ? "PUT" : "GET", "/v1/settings", body: isChange ? body : nil) {
                (reader) throws(ChatError) in try reader.raw()
            }
            if connection.json { return Output.json(settings) }
            var reader = JSONReader(settings.text)
            try reader.object { (name, value) throws(ChatError) in Output.line("\(name)  \(try value.raw().text)") }
        }
    }

    /// A number of days, or the word that stands for no limit; nothing where it was not given.
    private func number(_ text: String?, or word: String, _ option: String) throws -> String?? {
        guard let text else { return .none }
        if text == word { return .some(nil) }
        guard let days = Int(text), days > 0 else {
            throw ValidationError("--\(option) must be a number of days, or \(word)")
        }
        return .some(String(days))
    }
}
