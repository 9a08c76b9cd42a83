public import Foundation
public import Observation
public import Scrollback

/// An observable model of a search for messages in all conversations, newest first.
@Observable
public final class SearchModel: PagedSearchModel<SearchModel.Row, SearchCursor> {
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

    /// Whether the last search covers only the messages on this device, because the server can't be reached.
    public private(set) var isLocal = false

    /// Whether a search is entered, so that its results are shown instead of other content.
    public var isActive: Bool { !text.isEmpty }

    override func page(
        of text: String, after cursor: SearchCursor?
    ) async throws(ChatError) -> (results: [Row], next: SearchCursor?) {
        let page = try await client.search(text, limit: pageSize, after: cursor)
        let rows = try await rows(of: page.hits)
        isLocal = page.remoteError != nil
        return (rows, page.next)
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
