package import ScrollbackModel

/// Finds messages by their words.
package struct SearchMessages: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "search", http: .get("/v1/search"), scope: .read, callers: .anyUser, cost: .search,
        tag: .messages,
        summary: "Search the messages of all your conversations",
        details: """
            The search covers every conversation that the user is or was a member of, as far as they can see it. To \
            search a room, name it. A page with a cursor can have fewer hits than `limit`, even none.
            """)

    package typealias Answer = SearchPage

    package var query: SearchQuery

    package init(query: SearchQuery) {
        self.query = query
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        let conversation: ConversationID? = try request.omittable(
            "conversation", on: .webSocket, "Searches this conversation only.")
        query = try SearchQuery(from: &request, in: conversation)
    }

    package func writeMembers(to writer: inout JSONWriter) {
        query.writeMembers(to: &writer)
    }
}

extension SearchQuery {
    /// Reads the parameters that all searches have.
    package init(from request: inout RequestReader, in conversation: ConversationID?) throws(ChatError) {
        let text: SearchText = try request.required(
            "text",
            """
            1 to 256 bytes of UTF-8. A message must have all of the words. Each can be the start of a longer word, \
            except within double quotes.
            """)
        let sort: SearchSort? = try request.optional("sort", "The order of the hits. The default is `newestFirst`.")
        let limit = try request.pageSize()
        let cursor: String? = try request.optional(
            "cursor", "The `cursor` of the previous page, which had the same text, conversation and sort.")
        self.init(
            text.text, in: conversation, sort: sort ?? .newestFirst, limit: limit,
            after: cursor.map { SearchCursor(rawValue: $0) })
    }
}

/// What to search for.
///
/// The engine checks its length.
private struct SearchText: TextParameterValue {
    static let schema = JSONSchema.string(bytes: 1...SearchQuery.maximumBytes)
    static let example = #""hello""#
    let text: String
    init(text: String, parameter: String) { self.text = text }
}

extension SearchPage: DecodableAnswer {
    package static let schema: JSONSchema? = .component("SearchPage")
}
