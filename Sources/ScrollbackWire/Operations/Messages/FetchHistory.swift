package import ScrollbackModel

/// Gets a page of history of each of several conversations.
package struct FetchHistory: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "fetch", http: .post("/v1/history/fetch"), scope: .read, callers: .anyUser,
        cost: .read, tag: .messages,
        summary: "Get a page of history of each of several conversations",
        details: """
            `conversations` and `cursors` together name 1 to 500 conversations, each of them once. A page has an \
            error instead of messages when the caller can't read its conversation. When the answer gets too large, \
            later pages have no messages and a cursor to continue with.
            """)

    /// The pages, in the order of the request.
    package struct Answer: DecodableAnswer {
        package static let schema: JSONSchema? = .object([.init("pages", .array(.component("FetchedPage")))])

        package var pages: [FetchedPage]

        package init(pages: [FetchedPage]) {
            self.pages = pages
        }

        package init(from reader: inout JSONReader) throws(ChatError) {
            var pages: [FetchedPage] = []
            try reader.object { (name, value) throws(ChatError) in
                guard name == "pages" else { return try value.skip() }
                pages = try value.list("pages", limit: FetchQuery.maximumConversations) {
                    (page) throws(ChatError) in try FetchedPage(from: &page)
                }
            }
            self.init(pages: pages)
        }

        package func writeMembers(to writer: inout JSONWriter) {
            writer.key("pages")
            writer.array(pages) { $1.write(to: &$0) }
        }
    }

    package var query: FetchQuery

    package init(query: FetchQuery) {
        self.query = query
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        query = try FetchQuery(from: &request)
    }

    package func writeMembers(to writer: inout JSONWriter) {
        query.writeMembers(to: &writer)
    }
}

extension FetchQuery {
    fileprivate init(from request: inout RequestReader) throws(ChatError) {
        try request.refuse("cursor", "is for one conversation: give cursors by conversation")
        let maximum = Self.maximumConversations
        let named = try request.omittable(
            "conversations", .array(ConversationID.schema, count: 0...maximum), example: "[\(ConversationID.example)]",
            "Conversations whose pages start at the anchor."
        ) { (value) throws(ChatError) in
            try value.list("conversations", limit: maximum) { (id) throws(ChatError) in
                try id.conversation("conversations")
            }
        }
        let continued = try request.omittable(
            "cursors", .map(.string()), example: "{}", "Cursors of previous pages, by conversation."
        ) { (value) throws(ChatError) in try HistoryCursor.byConversation(&value) }
        var parameters = try HistoryParameters(from: &request, pages: .several)
        if parameters.values["sort"] == nil { parameters.values["sort"] = [Sort.oldestFirst.rawValue] }
        let hasLimit = parameters.values["limit"] != nil
        let one = try parameters.query()

        let conversations = (named ?? []).map { (id: $0, cursor: HistoryCursor?.none) } + (continued ?? [])
        var seen: Set<ConversationID> = []
        for (id, _) in conversations where !seen.insert(id).inserted {
            throw .invalidParameter("conversations", "must name each conversation once: \(id) is there twice")
        }
        self.init(
            conversations, anchor: one.anchor, limit: hasLimit ? one.limit : nil, sort: one.sort, filter: one.filter,
            includesActions: one.includesActions)
    }
}

extension HistoryCursor {
    fileprivate static func byConversation(
        _ reader: inout JSONReader
    ) throws(ChatError) -> [(id: ConversationID, cursor: HistoryCursor?)] {
        var cursors: [(id: ConversationID, cursor: HistoryCursor?)] = []
        try reader.object { (name, cursor) throws(ChatError) in
            guard cursor.nextIsString else { throw .invalidParameter("cursors", "must be strings") }
            let id = try ConversationID(name, parameter: "cursors")
            cursors.append((id, HistoryCursor(rawValue: try cursor.string())))
        }
        return cursors
    }
}
