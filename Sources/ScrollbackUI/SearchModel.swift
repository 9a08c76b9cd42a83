public import Foundation
public import Observation
public import Scrollback

/// An observable model of a search for messages in all conversations, which searches while the user types.
///
/// One search is in progress at a time. A text that changes during a search is searched for afterwards.
@MainActor
@Observable
public final class SearchModel {
    /// A message that the search found.
    public struct Row: Equatable, Identifiable, Sendable {
        /// The ID of the message.
        public let id: MessageID
        /// The conversation of the message.
        public let conversation: ConversationID
        /// The title of the conversation.
        public let title: String
        /// The name of the sender.
        public let senderName: String
        /// The text that matches.
        public let text: String
        /// The ranges of the text that match words of the query.
        public let highlights: [Range<String.Index>]
        /// The time when the server stored the message.
        public let date: Date
    }

    /// The text to search for; an empty text finds no messages.
    public var text = "" {
        didSet { if text != oldValue { Task { await search() } } }
    }
    /// The messages that the last completed search found, newest first.
    public private(set) var rows: [Row] = []
    /// Whether ``loadMore()`` can load more messages.
    public private(set) var hasMore = false
    /// Whether a search is in progress.
    public private(set) var isSearching = false
    /// Whether the last search covers only the messages on this device, because the server can't be reached.
    public private(set) var isLocal = false
    /// The error of the last failed search; set it to `nil` after you show it.
    public var error: ChatError?

    /// Whether a search is entered, so that its results are shown instead of other content.
    public var isActive: Bool { !text.isEmpty }

    @ObservationIgnored private let client: ChatClient
    @ObservationIgnored private let pageSize: Int
    /// The text that ``rows`` were found with.
    @ObservationIgnored private var searched = ""
    @ObservationIgnored private var next: SearchCursor?

    /// Creates a model without messages.
    ///
    /// - Parameters:
    ///   - client: The client that searches.
    ///   - pageSize: The number of messages in a page, 1...100; otherwise the initializer traps.
    public init(_ client: ChatClient, pageSize: Int = 20) {
        precondition((1...100).contains(pageSize), "The page size must be in 1...100.")
        self.client = client
        self.pageSize = pageSize
    }

    /// Loads the next page; has no effect if there is none, or while a search is in progress.
    public func loadMore() async {
        guard let next, !isSearching else { return }
        await load(searched, after: next)
        await search()
    }

    private func search() async {
        while !isSearching, text != searched { await load(text, after: nil) }
    }

    private func load(_ text: String, after cursor: SearchCursor?) async {
        isSearching = true
        defer { isSearching = false }
        // A failed search is not repeated before the text changes.
        searched = text
        do throws(ChatError) {
            let isEmpty = text.allSatisfy(\.isWhitespace)
            let page =
                isEmpty
                ? SearchPage(hits: [], next: nil) : try await client.search(text, limit: pageSize, after: cursor)
            let found = try await rows(of: page.hits)
            rows = cursor == nil ? found : rows + found
            next = page.next
            hasMore = next != nil
            isLocal = page.remoteError != nil
        } catch {
            if error.code != .cancelled { self.error = error }
        }
    }

    private func rows(of hits: [SearchHit]) async throws(ChatError) -> [Row] {
        var names: [ConversationID: String] = [:]
        for id in Set(hits.map(\.message.conversation)) { names[id] = try await client.recents[id]?.name }
        let people = hits.flatMap { [$0.message.sender, $0.message.conversation.peer].compactMap { $0 } }
        let profiles = try await client.profiles(of: Set(people))
        return hits.map { hit in
            let id = hit.message.conversation
            return Row(
                id: hit.message.id, conversation: id, title: id.title(named: names[id], profiles),
                senderName: profiles.name(of: hit.message.sender), text: hit.text, highlights: hit.highlights,
                date: hit.message.sentAt)
        }
    }
}
