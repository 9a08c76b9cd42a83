import ArgumentParser
import Foundation
import Scrollback
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

    @Option(help: "Where from: the server (remote), this device (local), or both (merged).")
    var source = Source.remote

    @Option(help: "A directory for the client's store, which lasts between calls; local and merged need it.")
    var store: String?

    @OptionGroup var connection: ConnectionOptions

    enum Source: String, ExpressibleByArgument, CaseIterable {
        case local, remote, merged
    }

    func validate() throws {
        if source != .remote, store == nil {
            throw ValidationError(
                "--source \(source.rawValue) needs the client's store: name its directory with --store")
        }
    }

    func run() async throws {
        try await reporting {
            if source != .remote || store != nil { return try await readWithClient() }
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

    private func readWithClient() async throws {
        let client = try await connection.client(for: reader, store: store)
        if source != .local { try await client.connected() }
        let chat = client.conversation(conversation.id)
        let query = try query()
        let from: HistorySource =
            switch source {
            case .local: .local
            case .remote: .remote
            case .merged: .merged
            }
        if all {
            for try await message in chat.messages(from: query.anchor, source: from) { show(message) }
        } else {
            let page = try await chat.history(query.anchor, limit: query.limit, sort: query.sort, from: from)
            for message in page.messages { show(message) }
            if let shortfall = page.shortfall { Output.error("not whole: \(shortfall.message)") }
            if let gap = page.gap { Output.error("not whole: \(gap) is not on this device") }
        }
        await client.close()
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
            Output.line(
                "\(message.seq)  \(message.sentAt.iso8601)  \(message.sender): \(message.text ?? "[\(message.type)]")")
        }
    }
}
