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
            newest messages are read. With --all, every message from there on, oldest first unless --before is given. \
            --from and --to read between two anchors, the first included, the second not; --before with --from goes back \
            down to it.

            Against the demo community of `make run`:
              scrollback history group:albatross --as alice --limit 5
              scrollback history community:harbour/general --as mei --around seq:600
              scrollback history community:harbour/weather --as mei --sender bob --json
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

    @Option(help: "From this anchor, included, to newer; with --before, back down to it.")
    var from: String?

    @Option(help: "To this anchor, excluded; goes with --from.")
    var to: String?

    @Option(help: "How many, 0...100.")
    var limit = 20

    @OptionGroup(title: "Filters") var filter: FilterOptions

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
            let sealing = try connection.sealing(for: reader)
            let query = try query()
            if all {
                try await api.everyPage(of: conversation.id, query) { page in
                    for message in page.messages { show(sealing.open(message)) }
                    return true
                }
            } else {
                let page = try await api.history(of: conversation.id, query)
                for message in page.messages { show(sealing.open(message)) }
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
            for try await message in chat.messages(from: query.anchor, matching: query.filter, source: from) {
                show(message)
            }
        } else {
            let page = try await chat.history(
                query.anchor, limit: query.limit, sort: query.sort, matching: query.filter, from: from)
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
        parameters["from"] = from.map { [$0] }
        parameters["to"] = to.map { [$0] }
        if all, parameters.isEmpty { parameters["after"] = ["earliest"] }
        if around == nil {
            parameters["limit"] = [String(all ? max(limit, 100) : limit)]
        } else {
            parameters["beforeLimit"] = [String(limit / 2)]
            parameters["afterLimit"] = [String(limit - limit / 2)]
        }
        // A person reads downwards; paging to older goes upwards.
        parameters["sort"] = [all && before != nil ? "newestFirst" : "oldestFirst"]
        return try HistoryParameters(parameters.merging(filter.parameters) { $1 }).query()
    }

    private func show(_ message: Message) { Output.show(message, json: connection.json) }
}

/// Which messages are wanted.
struct FilterOptions: ParsableArguments {
    @Option(name: .customLong("type"), help: "Only this type, such as text or image; may be given several times.")
    var types: [String] = []

    @Option(name: .customLong("exclude-type"), help: "Not this type; may be given several times.")
    var excludedTypes: [String] = []

    @Option(
        name: .customLong("custom-type"),
        help: "Only this custom type, or \"\" for none; may be given several times.")
    var customTypes: [String] = []

    @Option(name: .customLong("sender"), help: "Only what this user sent; may be given several times.")
    var senders: [String] = []

    @Flag(help: "Only messages that mention the reader.")
    var mentionsMe = false

    @Flag(help: "Only images, GIFs, files, voice messages and videos.")
    var hasMedia = false

    @Option(help: "Only replies in the thread that begins with this message's id.")
    var thread: String?

    var parameters: [String: [String]] {
        var parameters: [String: [String]] = [:]
        // A list of one element with a comma in it must not be taken for two.
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
        return parameters
    }
}

extension Output {
    /// A message as a line.
    static func show(_ message: Message, json isJSON: Bool) {
        if isJSON { return json { message.writeMembers(to: &$0) } }
        let content = message.words
        let notes = [
            message.editedAt == nil ? nil : "edited",
            message.replies.map { "\($0.count) replies" },
            message.actions.isEmpty ? nil : message.actions.map { "\($0.value) \($0.count)" }.joined(separator: " "),
        ].compactMap { $0 }
        let note = notes.isEmpty ? "" : "  (\(notes.joined(separator: ", ")))"
        line("\(message.seq)  \(message.sentAt.iso8601)  \(message.sender): \(content)\(note)")
    }
}
