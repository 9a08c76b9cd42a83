import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackWire

struct History: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Read a conversation's history.",
        discussion: """
            An anchor is seq:N, timetoken:N, id:UUID, an ISO 8601 time, latest, earliest or firstUnread. Without one, the \
            newest messages are read. With --all, every message from there on, oldest first unless --before is given.
            """)

    @OptionGroup var conversation: ConversationArgument

    @Option(name: .customLong("as"), help: "Who reads.", transform: ScrollbackCLI.user)
    var reader: UserID

    @Option(help: "Messages before this anchor, to older.")
    var before: String?

    @Option(help: "Messages after this anchor, to newer.")
    var after: String?

    @Option(help: "Messages around this anchor.")
    var around: String?

    @Option(help: "How many, 0...100.")
    var limit = 20

    @Flag(help: "All of them, page by page.")
    var all = false

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let api = try await connection.api(as: reader)
            let query = try query()
            if all {
                try await api.everyPage(of: conversation.id, query) { page in
                    for message in page.messages { show(message) }
                    return true
                }
            } else {
                for message in try await api.history(of: conversation.id, query).messages { show(message) }
            }
        }
    }

    private func query() throws(ChatError) -> HistoryQuery {
        var parameters: [String: [String]] = [:]
        parameters["before"] = before.map { [$0] }
        parameters["after"] = after.map { [$0] }
        parameters["around"] = around.map { [$0] }
        if all, parameters.isEmpty { parameters["after"] = ["earliest"] }
        if around == nil {
            parameters["limit"] = [String(all ? max(limit, 100) : limit)]
        } else {
            parameters["beforeLimit"] = [String(limit / 2)]
            parameters["afterLimit"] = [String(limit - limit / 2)]
        }
        // A person reads downwards; paging to older goes upwards.
        parameters["sort"] = [all && before != nil ? "newestFirst" : "oldestFirst"]
        return try HistoryParameters(parameters).query()
    }

    private func show(_ message: Message) {
        if connection.json {
            Output.json { message.writeMembers(to: &$0) }
        } else {
            Output.line("\(message.seq)  \(message.sentAt.iso8601)  \(message.sender): \(message.text ?? "[\(message.type)]")")
        }
    }
}
