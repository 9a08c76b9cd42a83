import ArgumentParser
import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackWire

struct Search: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Find messages by their words.",
        discussion: """
            All words must be found, each where a word begins: `mig data` finds "data migration". In double quotes they must \
            stand as typed. Neither case nor accents matter.

            With the demo community of `scrollback serve --demo`:
              scrollback search 'tide quay' --as alice
              scrollback search regatta --as mei --in community:harbour/general --sort best
            """)

    @Argument(help: "What to look for, 1...256 bytes.")
    var text: String

    @Option(name: .customLong("as"), help: "Who looks: only what they may see is found.", transform: ScrollbackCLI.user)
    var reader: UserID

    @Option(
        name: .customLong("in"), help: "One conversation; without it all of theirs.",
        transform: { text in try checked { () throws(ChatError) in try ConversationID(text) } })
    var conversation: ConversationID?

    @Option(help: "The newest first, or those that answer best.")
    var sort = Order.newest

    @Option(help: "How many, 1...100.")
    var limit = 20

    @Option(help: "Goes on where a search of the same words ended: the cursor it said.")
    var cursor: String?

    @Option(
        help: "On the server (remote), this device (local), or the server if it can be reached (merged).")
    var source = History.Source.remote

    @Option(help: "A directory for the client's store, which lasts between calls; local and merged need it.")
    var store: String?

    @OptionGroup var connection: ConnectionOptions

    enum Order: String, ExpressibleByArgument, CaseIterable {
        case newest, best
    }

    func validate() throws {
        if source != .remote, store == nil {
            throw ValidationError(
                "--source \(source.rawValue) needs the client's store: name its directory with --store")
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
            if let shortfall = page.shortfall { Output.error("not whole: \(shortfall.message)") }
            if page.isIndexing { Output.error("not whole: the server is still indexing, search again later") }
            if let next = page.next { Output.error("there are more: --cursor \(next.rawValue)") }
        }
    }

    private func searchWithClient(_ query: SearchQuery) async throws -> SearchPage {
        let client = try await connection.client(for: reader, store: store)
        do {
            let from: HistorySource =
                switch source {
                case .local: .local
                case .remote: .remote
                case .merged: .merged
                }
            if source == .remote { try await client.connected() }
            // Without the server a merged search says what the device has.
            if source == .merged { try? await client.connected() }
            let page =
                if let conversation {
                    try await client.conversation(conversation)
                        .search(text, sort: query.sort, limit: limit, after: query.cursor, from: from)
                } else {
                    try await client.search(text, sort: query.sort, limit: limit, after: query.cursor, from: from)
                }
            await client.close()
            return page
        } catch {
            await client.close()
            throw error
        }
    }

    private func show(_ hit: SearchHit) {
        if connection.json { return Output.json { hit.writeMembers(to: &$0) } }
        let message = hit.message
        let place = conversation == nil ? "\(message.conversation)  " : ""
        let line = "\(place)\(message.seq)  \(message.sentAt.iso8601)  \(message.sender): \(highlighted(hit))\n"
        Output.write(line, to: STDOUT_FILENO)
    }

    /// The text with what was found in bold, where a person looks at a terminal.
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
