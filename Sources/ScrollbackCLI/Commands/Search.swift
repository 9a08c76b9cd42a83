import ArgumentParser
import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackWire

struct Search: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Search messages by text.",
        discussion: """
            A message matches if it contains words that start with each search term: `mig data` finds "data \
            migration". Terms in double quotes must match as a phrase. Case and accents are ignored.

            With the demo community of `scrollback serve --demo`:
              scrollback search 'tide quay' --as alice
              scrollback search regatta --as mei --in community:harbour/general --sort best
            """)

    @Argument(help: "The search text, 1...256 bytes.")
    var text: String

    @Option(
        name: .customLong("as"), help: "The user who searches. Only messages visible to the user are found.",
        transform: ScrollbackCLI.user)
    var reader: UserID

    @Option(
        name: .customLong("in"), help: "Search only this conversation (default: all of the user's conversations).",
        transform: { text in try checked { () throws(ChatError) in try ConversationID(text) } })
    var conversation: ConversationID?

    @Option(help: "The order: newest first, or best match first.")
    var sort = Order.newest

    @Option(help: "The maximum number of results, 1...100.")
    var limit = 20

    @Option(help: "The cursor that the previous page of the same search printed.")
    var cursor: String?

    @Option(
        help: "The source: the server (remote), the local store (local), or both if possible (merged).")
    var source = History.Source.remote

    @Option(help: "A directory for the client's local store. Required for local and merged.")
    var store: String?

    @OptionGroup var connection: ConnectionOptions

    enum Order: String, ExpressibleByArgument, CaseIterable {
        case newest, best
    }

    func validate() throws {
        if source != .remote, store == nil {
            throw ValidationError(
                "--source \(source.rawValue) requires the client's local store. Specify its directory with --store.")
        }
    }

    func run() async throws {
        try await reporting {
            let query = SearchQuery(
                text, in: conversation, sort: sort == .newest ? .newestFirst : .bestFirst, limit: limit,
                after: cursor.map { SearchCursor(rawValue: $0) })
            let page: SearchPage
            if source == .remote, store == nil {
                page = try await connection.api(as: reader).search(query)
            } else {
                page = try await searchWithClient(query)
            }
            for hit in page.hits { show(hit) }
            if let remoteError = page.remoteError { Output.error("incomplete: \(remoteError.message)") }
            if page.isIndexing { Output.error("incomplete: the server is still indexing messages, search again later") }
            if let next = page.next { Output.error("more results: --cursor \(next.rawValue)") }
        }
    }

    private func searchWithClient(_ query: SearchQuery) async throws -> SearchPage {
        try await connection.withClient(for: reader, store: store, connects: source == .remote) { client in
            let from: HistorySource =
                switch source {
                case .local: .local
                case .remote: .remote
                case .merged: .merged
                }
            if source == .remote { try await client.waitUntilOnline() }
            // Without a connection, a merged search returns local results.
            if source == .merged { try? await client.waitUntilOnline() }
            guard let conversation else {
                return try await client.search(text, sort: query.sort, limit: limit, after: query.cursor, from: from)
            }
            return try await client.conversation(conversation)
                .search(text, sort: query.sort, limit: limit, after: query.cursor, from: from)
        }
    }

    private func show(_ hit: SearchHit) {
        if connection.json { return Output.json { hit.writeMembers(to: &$0) } }
        let message = hit.message
        let place = conversation == nil ? "\(message.conversation)  " : ""
        let line = "\(place)\(message.seq)  \(message.sentAt.iso8601)  \(message.sender): \(highlighted(hit))\n"
        Output.write(line, to: STDOUT_FILENO)
    }

    /// Returns the text with the matches highlighted if the output is a terminal.
    private func highlighted(_ hit: SearchHit) -> String {
        let text = hit.text
        guard isatty(STDOUT_FILENO) == 1 else { return text.printable }
        var shown = ""
        var end = text.startIndex
        for range in hit.highlights {
            let (before, found) = (String(text[end..<range.lowerBound]), String(text[range]))
            shown += before.printable + "\u{1B}[1;33m" + found.printable + "\u{1B}[0m"
            end = range.upperBound
        }
        return shown + String(text[end...]).printable
    }
}

extension ServerAPI {
    func search(_ query: SearchQuery) async throws(ChatError) -> SearchPage {
        var parameters = "text=\(Self.escape(query.text))&sort=\(query.sort.rawValue)&limit=\(query.limit)"
        if let cursor = query.cursor { parameters += "&cursor=\(Self.escape(cursor.rawValue))" }
        let path = query.conversation.map { Self.path($0, "/search") } ?? "/v1/search"
        return try await object("GET", "\(path)?\(parameters)") {
            (reader) throws(ChatError) in try SearchPage(from: &reader)
        }
    }
}
