import ArgumentParser
import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackWire

struct Schedule: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send a text at a later time, or list and cancel scheduled messages.",
        discussion: """
            Without a conversation, the command lists the user's scheduled messages, with the reason for those that \
            the server refused to send.

            Examples:
              scrollback schedule group:albatross "Happy new year" --at 2027-01-01T00:00:00Z --as alice
              scrollback schedule --as alice
              scrollback schedule --cancel 0198f3c2-7c1e-7000-8000-0123456789ab --as alice
            """)

    @Argument(
        help: "The conversation to send to.",
        transform: { text in try checked { () throws(ChatError) in try ConversationID(text) } })
    var conversation: ConversationID?

    @Argument(help: "The text to send.")
    var text: String?

    @Option(help: "When to send the text, in ISO 8601: 2027-01-01T00:00:00Z.")
    var at: String?

    @Option(help: ArgumentHelp("Cancel the message with this ID.", valueName: "id"))
    var cancel: String?

    @Option(name: .customLong("as"), help: "The user who sends.", transform: ScrollbackCLI.user)
    var user: UserID

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        let parts = [conversation != nil, text != nil, at != nil]
        guard Set(parts).count == 1, cancel == nil || !parts[0] else {
            throw ValidationError("Specify a conversation, a text and --at, or only --cancel, or none of them.")
        }
    }

    func run() async throws {
        try await reporting {
            let api = try await connection.api(as: user)
            if let conversation, let text, let at {
                try await schedule(text, in: conversation, Date(iso8601: at, parameter: "at"), api)
            } else if let cancel {
                let id = try MessageID(cancel, parameter: "cancel")
                try await api.perform("DELETE", "/v1/scheduled/\(id)")
                guard connection.json else { return Output.line("cancelled") }
                Output.json { $0.field("id", id) }
            } else {
                try await list(api)
            }
        }
    }

    private func schedule(
        _ text: String, in conversation: ConversationID, _ date: Date, _ api: ServerAPI
    ) async throws {
        var generator = SystemRandomNumberGenerator()
        let submission = Submission(id: MessageID(at: Date(), using: &generator), content: .text(text))
        let message = ScheduledMessage(
            conversation: conversation,
            submission: try connection.messageEncryption(for: user).seal(submission, to: conversation), sendAt: date)
        try await api.perform("POST", ServerAPI.path(conversation, "/scheduled")) { message.writeMessage(to: &$0) }
        guard connection.json else { return Output.line("\(submission.id)  \(date.iso8601)") }
        Output.json { message.writeMembers(to: &$0) }
    }

    private func list(_ api: ServerAPI) async throws {
        let encryption = try connection.messageEncryption(for: user)
        var cursor = ""
        repeat {
            let page = try await api.object("GET", "/v1/scheduled?limit=100\(cursor)") { (reader) throws(ChatError) in
                try ListScheduled.Answer(from: &reader)
            }
            for var message in page.elements {
                message.submission = encryption.open(message.submission, to: message.conversation).0
                if connection.json {
                    Output.json { message.writeMembers(to: &$0) }
                } else {
                    let content = message.submission.content
                    let failure = message.failure.map { "  refused: \($0)" } ?? ""
                    Output.line(
                        "\(message.submission.id)  \(message.sendAt.iso8601)  \(message.conversation)  "
                            + (content.text ?? content.type.rawValue) + failure)
                }
            }
            cursor = page.cursor.map { "&cursor=\(ServerAPI.escape($0))" } ?? ""
        } while !cursor.isEmpty
    }
}
