import ArgumentParser
import Foundation
import ScrollbackModel

struct AdminAudit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit", abstract: "List the acts of administrators and moderators, newest first.")

    @Option(help: "Only acts of this user.", transform: ScrollbackCLI.user)
    var actor: UserID?

    @Option(help: "Only acts that concern this user.", transform: ScrollbackCLI.user)
    var user: UserID?

    @Option(
        name: .customLong("in"), help: "Only acts in this conversation.",
        transform: { text in try checked { () throws(ChatError) in try ConversationID(text) } })
    var conversation: ConversationID?

    @Option(help: "Only acts of this kind, for example ban.")
    var action: String?

    @OptionGroup var list: ListOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let filters = [
                actor.map { "actor=\(ServerAPI.escape($0))" }, user.map { "user=\(ServerAPI.escape($0))" },
                conversation.map { "conversation=\(ServerAPI.escape($0))" },
                action.map { "action=\(ServerAPI.escape($0))" },
            ].compactMap { $0 }
            let path = filters.isEmpty ? "/v1/audit" : "/v1/audit?\(filters.joined(separator: "&"))"
            try await connection.adminAPI().print(path, "acts", list, json: connection.json) { act in
                joined(
                    act["at"], act["actor"], act["action"], act["user"], act["conversation"], act["detail"],
                    act["key"].isEmpty ? "" : "key \(act["key"])")
            }
        }
    }
}
