package import ScrollbackModel

/// Lists the threads of a conversation.
package struct ListThreads: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "threads", http: .get("/v1/conversations/{conversation}/threads"), scope: .read,
        callers: .permission([.read]), cost: .read, tag: .messages,
        summary: "List the threads of a conversation",
        details: """
            Those with the newest reply first. Threads whose first message you can't see are left out. With \
            `followed`, a page can have fewer threads than `limit`, and even none, although there is a `cursor`.
            """,
        errors: [404])

    package struct Answer: DecodableAnswer {
        package static let schema: JSONSchema? = .object([
            .init("threads", .array(.component("Thread"))),
            .init("cursor", .string(), isRequired: false, "Pass it to get the next page. Absent on the last page."),
        ])

        package var threads: [MessageThread]
        /// The next page has the threads whose newest reply is older.
        package var next: Timetoken?

        package init(threads: [MessageThread], next: Timetoken?) {
            self.threads = threads
            self.next = next
        }

        package init(from reader: inout JSONReader) throws(ChatError) {
            var threads: [MessageThread]?
            var next: Timetoken?
            try reader.object { (name, value) throws(ChatError) in
                switch name {
                case "threads":
                    threads = try value.list(name, limit: Limits.standard.pageSize) { (thread) throws(ChatError) in
                        try MessageThread(from: &thread)
                    }
                case "cursor": next = try value.null() ? nil : Timetoken(value.string(), parameter: "cursor")
                default: try value.skip()
                }
            }
            self.init(threads: try threads.required("threads"), next: next)
        }

        package func writeMembers(to writer: inout JSONWriter) {
            writer.key("threads")
            writer.array(threads) { $1.write(to: &$0) }
            writer.field("cursor", next)
        }
    }

    package var conversation: ConversationID
    /// Whether to list only the threads that the caller follows.
    package var isFollowed: Bool
    /// The time of the newest reply below which to list; `nil` for the first page.
    package var before: Timetoken?
    package var limit: Int

    package init(conversation: ConversationID, isFollowed: Bool = false, before: Timetoken? = nil, limit: Int = 20) {
        self.conversation = conversation
        self.isFollowed = isFollowed
        self.before = before
        self.limit = limit
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        isFollowed =
            try request.optional("followed", "Whether to list only threads that you follow. The default is false.")
            ?? false
        let page = try Paging(from: &request)
        before = try page.cursor.map { (text) throws(ChatError) in try Timetoken(text, parameter: "cursor") }
        limit = page.limit
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        if isFollowed { writer.field("followed", true) }
        Paging(limit: limit, cursor: before?.description).writeMembers(to: &writer)
    }
}
