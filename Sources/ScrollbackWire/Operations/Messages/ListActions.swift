package import ScrollbackModel

/// Lists the actions on the messages of a conversation, or on one message.
package struct ListActions: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "actions", http: .get("/v1/conversations/{conversation}/actions"), scope: .read,
        callers: .permission([.read]), cost: .read, tag: .messages,
        summary: "List the actions in a conversation", details: "Oldest first.", errors: [404])

    package typealias Answer = ListPage<MessageAction>

    package var conversation: ConversationID
    /// The message, or `nil` for all messages.
    ///
    /// HTTP has an operation of its own for one message.
    package var id: MessageID?
    /// The timetoken of the last action of the previous page, or `nil` for the first page.
    package var after: Timetoken?
    package var limit: Int

    package init(conversation: ConversationID, id: MessageID? = nil, after: Timetoken? = nil, limit: Int = 20) {
        self.conversation = conversation
        self.id = id
        self.after = after
        self.limit = limit
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        id = try request.optional("id", on: .webSocket, "Lists the actions on this message only.")
        try request.refuse("cursor", on: .webSocket, "is for HTTP: give the cursor of the previous page as after")
        let after: Timetoken? = try request.optional("after", on: .webSocket, "The `cursor` of the previous page.")
        self.after = try request.actionCursor() ?? after
        limit = try request.pageSize()
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.field("id", id)
        writer.field("after", after)
        writer.field("limit", limit)
    }
}

extension RequestReader {
    /// Reads where a page of actions starts.
    package mutating func actionCursor() throws(ChatError) -> Timetoken? {
        try optional("cursor", on: .http, "The `cursor` of the previous page. Leave it out for the first page.")
    }
}

extension MessageAction: ListElement {
    package static let listName = "actions"
    package static let schema = JSONSchema.component("Action")

    package func write(to writer: inout JSONWriter) {
        writer.object { writeMembers(to: &$0) }
    }
}

extension ListPage<MessageAction> {
    /// The timetoken of the page's last action, or `nil` on the last page.
    package func next() throws(ChatError) -> Timetoken? {
        try cursor.map { (text) throws(ChatError) in try Timetoken(text, parameter: "cursor") }
    }
}
