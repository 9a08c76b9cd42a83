package import ScrollbackModel

/// Gets a page of a conversation's history.
package struct GetHistory: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "history", http: .get("/v1/conversations/{conversation}/messages"), scope: .read,
        callers: .permission([.read]), cost: .read, tag: .messages,
        summary: "Get a page of history",
        details: """
            Give at most one of `before`, `after` and `around`, or `from` with `to`. The default is `before=latest`. \
            `before` with `from` reads back to that point. The page excludes the message at `before` or `after` and \
            includes the message at `around`. A page can be empty and still have a cursor.
            """,
        errors: [404, 409])

    package typealias Answer = LogPage

    package var conversation: ConversationID
    package var query: HistoryQuery

    package init(conversation: ConversationID, query: HistoryQuery) {
        self.conversation = conversation
        self.query = query
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        query = try HistoryParameters(from: &request, pages: .one).query()
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        query.parameters.write(to: &writer)
    }
}

extension LogPage: DecodableAnswer {
    package static let schema: JSONSchema? = .component("Page")
}
