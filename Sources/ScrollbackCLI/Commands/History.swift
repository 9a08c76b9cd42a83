import ArgumentParser
import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackWire

struct History: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print the history of a conversation.",
        discussion: """
            An anchor is seq:N, timetoken:N, id:UUID, an ISO 8601 time, latest, earliest or firstUnread. Without an \
            anchor, the command prints the newest messages. With --all, it prints every message from the anchor, \
            oldest first unless --before is given. --from is inclusive and --to is exclusive. --before with --from \
            reads back to --from.

            With the demo community of `make run`:
              scrollback history group:albatross --as alice --limit 5
              scrollback history community:harbour/general --as mei --around seq:600
              scrollback history community:harbour/weather --as mei --sender bob --json
            """)

    @OptionGroup var conversation: ConversationArgument

    @Option(name: .customLong("as"), help: "The user who reads.", transform: ScrollbackCLI.user)
    var reader: UserID

    @Option(help: "Read messages before this anchor.")
    var before: String?

    @Option(help: "Read messages after this anchor.")
    var after: String?

    @Option(help: "Read messages around this anchor.")
    var around: String?

    @Option(help: "Read messages from this anchor, inclusive. With --before, read back to it.")
    var from: String?

    @Option(help: "Read messages up to this anchor, exclusive. Requires --from.")
    var to: String?

    @Option(help: "The maximum number of messages, 0...100.")
    var limit = 20

    @OptionGroup(title: "Filters") var filter: FilterOptions

    @Flag(help: "Read all messages, page by page.")
    var all = false

    @Option(help: "The source: the server (remote), the local store (local), or both (merged).")
    var source = Source.remote

    @Option(help: "A directory for the client's local store. Required for local and merged.")
    var store: String?

    @OptionGroup var connection: ConnectionOptions

    enum Source: String, ExpressibleByArgument, CaseIterable {
        case local, remote, merged
    }

    func validate() throws {
        if source != .remote, store == nil {
            throw ValidationError(
                "--source \(source.rawValue) requires the client's local store. Specify its directory with --store.")
        }
        guard (0...100).contains(limit) else { throw ValidationError("--limit must be in 0...100.") }
    }

    func run() async throws {
        try await reporting {
            if source != .remote || store != nil { return try await readWithClient() }
            let api = try await connection.api(as: reader)
            let encryption = try connection.messageEncryption(for: reader)
            let query = try query()
            if all {
                try await api.forEachPage(of: conversation.id, query) { page in
                    for message in page.messages { show(encryption.open(message)) }
                    return true
                }
            } else {
                let page = try await api.history(of: conversation.id, query)
                for message in page.messages { show(encryption.open(message)) }
            }
        }
    }

    private func readWithClient() async throws {
        let client = try await connection.client(for: reader, store: store, connects: source == .remote)
        if source == .remote { try await client.waitUntilOnline() }
        // Without a connection, a merged page has the messages of the local store.
        if source == .merged { try? await client.waitUntilOnline() }
        let chat = client.conversation(conversation.id)
        let query = try query()
        let from: HistorySource =
            switch source {
            case .local: .local
            case .remote: .remote
            case .merged: .merged
            }
        if all {
            for try await message in chat.messages(from: query.anchor, matching: query.filter, source: from) {
                show(message)
            }
        } else {
            let page = try await chat.history(
                query.anchor, limit: query.limit, sort: query.sort, matching: query.filter, from: from)
            for message in page.messages { show(message) }
            if let remoteError = page.remoteError { Output.error("incomplete: \(remoteError.message)") }
            if let gap = page.gap { Output.error("incomplete: \(gap) is not in the local store") }
        }
        await client.close()
    }

    private func query() throws(ChatError) -> HistoryQuery {
        var parameters: [String: [String]] = [:]
        parameters["before"] = before.map { [$0] }
        parameters["after"] = after.map { [$0] }
        parameters["around"] = around.map { [$0] }
        parameters["from"] = from.map { [$0] }
        parameters["to"] = to.map { [$0] }
        if all, parameters.isEmpty { parameters["after"] = ["earliest"] }
        if around == nil {
            parameters["limit"] = [String(all ? max(limit, 100) : limit)]
        } else {
            parameters["beforeLimit"] = [String(limit / 2)]
            parameters["afterLimit"] = [String(limit - limit / 2)]
        }
        // Print the oldest message first, except when paging backwards.
        parameters["sort"] = [all && before != nil ? "newestFirst" : "oldestFirst"]
        return try HistoryParameters(parameters.merging(filter.parameters) { $1 }).query()
    }

    private func show(_ message: Message) { Output.show(message, json: connection.json) }
}

/// The options that filter messages.
struct FilterOptions: ParsableArguments {
    @Option(name: .customLong("type"), help: "Only messages of this type, for example text or image. Can be repeated.")
    var types: [String] = []

    @Option(name: .customLong("exclude-type"), help: "Exclude messages of this type. Can be repeated.")
    var excludedTypes: [String] = []

    @Option(
        name: .customLong("custom-type"),
        help: "Only messages of this custom type, or \"\" for none. Can be repeated.")
    var customTypes: [String] = []

    @Option(name: .customLong("sender"), help: "Only messages of this sender. Can be repeated.")
    var senders: [String] = []

    @Flag(help: "Only messages that mention the reader.")
    var mentionsMe = false

    @Flag(help: "Only images, GIFs, files, voice messages and videos.")
    var hasMedia = false

    @Option(help: "Only replies in the thread of the message with this ID.")
    var thread: String?

    @Flag(help: "No replies of threads.")
    var excludesReplies = false

    var parameters: [String: [String]] {
        var parameters: [String: [String]] = [:]
        // A single value is repeated, so that a comma in it is not parsed as a separator.
        func list(_ name: String, _ values: [String]) {
            if !values.isEmpty { parameters[name] = values.count == 1 ? values + values : values }
        }
        list("types", types)
        list("excludedTypes", excludedTypes)
        list("customTypes", customTypes)
        list("senders", senders)
        if mentionsMe { parameters["mentionsMe"] = ["true"] }
        if hasMedia { parameters["hasMedia"] = ["true"] }
        parameters["thread"] = thread.map { [$0] }
        if excludesReplies { parameters["excludesReplies"] = ["true"] }
        return parameters
    }
}

extension Output {
    /// Prints a message as one line.
    static func show(_ message: Message, json isJSON: Bool) {
        if isJSON { return json { message.writeMembers(to: &$0) } }
        let content = message.displayText
        let notes = [
            message.editedAt == nil ? nil : "edited",
            message.replies.map { $0.count == 1 ? "1 reply" : "\($0.count) replies" },
            message.actions.isEmpty ? nil : message.actions.map { "\($0.value) \($0.count)" }.joined(separator: " "),
        ].compactMap { $0 }
        let note = notes.isEmpty ? "" : "  (\(notes.joined(separator: ", ")))"
        line("\(message.seq)  \(message.sentAt.iso8601)  \(message.sender): \(content)\(note)")
    }
}
