package import ScrollbackModel
package import ScrollbackWire

/// Finds messages of one conversation by their words.
package struct SearchConversation: ChatOperation {
    package static let endpoint = Endpoint(
        http: .get("/v1/conversations/{conversation}/search"), scope: .read,
        callers: .permission([.read]), cost: .search, tag: .messages,
        summary: "Search the messages of a conversation",
        details: "The search covers the messages that the caller can see.", errors: [404])

    package typealias Answer = SearchPage

    package var query: SearchQuery

    package init(query: SearchQuery) {
        self.query = query
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        let conversation: ConversationID = try request.required("conversation")
        query = try SearchQuery(from: &request, in: conversation)
    }
}

extension SearchConversation: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<SearchPage>) {
        context.engine.search(query, by: context.caller, offload: context.offload, completion: completion)
    }
}
