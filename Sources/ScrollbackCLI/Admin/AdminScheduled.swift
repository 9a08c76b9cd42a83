import ArgumentParser
import Foundation
import ScrollbackModel

struct AdminScheduled: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scheduled", abstract: "List and cancel the scheduled messages of a user.",
        discussion: """
            Revoking the user's tokens does not cancel them. While the user is deactivated or banned, the server \
            does not send them.

            Examples:
              scrollback admin scheduled mallory
              scrollback admin scheduled mallory --cancel 0198f3c2-7c1e-7000-8000-0123456789ab
            """)

    @Argument(help: "The user.", transform: ScrollbackCLI.user)
    var user: UserID

    @Option(help: ArgumentHelp("Cancel the message with this ID.", valueName: "id"))
    var cancel: String?

    @OptionGroup var list: ListOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let api = try connection.adminAPI()
            let path = "/v1/users/\(ServerAPI.escape(user))/scheduled"
            if let cancel {
                let id = try MessageID(cancel, parameter: "cancel")
                try await api.perform("DELETE", "\(path)/\(id)")
                guard connection.json else { return Output.line("cancelled") }
                return Output.json { $0.field("id", id) }
            }
            try await api.print(path, "scheduled", list, json: connection.json) { entry in
                let message = entry.object("message")
                let text = message?.object("content")?["text"] ?? ""
                return joined(
                    message?["id"] ?? "", message?["sendAt"] ?? "", entry["conversation"],
                    text.isEmpty ? message?["type"] ?? "" : text,
                    entry["failure"].isEmpty ? "" : "refused: \(entry["failure"])")
            }
        }
    }
}
