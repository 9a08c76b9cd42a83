package import ScrollbackModel

/// Lists the pinned messages of a conversation.
package struct ListPins: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "pins", http: .get("/v1/conversations/{conversation}/pins"), scope: .read,
        callers: .permission([.read]), cost: .read, tag: .messages,
        summary: "List the pinned messages of a conversation",
        details: "Newest message first. A conversation has at most 100 pinned messages.", errors: [404])

    package struct Answer: DecodableAnswer {
        package static let schema: JSONSchema? = .object([
            .init("messages", .array(.component("Message"))),
            .init("rev", .integer(), "The revision of the newest change that the list includes."),
            .init("cursor", .string(), isRequired: false, "Pass it to get the next page. Absent on the last page."),
        ])

        package var messages: [Message]
        /// The revision of the newest change that the list includes.
        package var rev: Int64
        /// The next page has the messages below this sequence number.
        package var next: Seq?

        package init(messages: [Message], rev: Int64, next: Seq?) {
            self.messages = messages
            self.rev = rev
            self.next = next
        }

        package init(from reader: inout JSONReader) throws(ChatError) {
            var messages: [Message]?
            var rev: Int64?
            var next: Seq?
            try reader.object { (name, value) throws(ChatError) in
                switch name {
                case "messages":
                    messages = try value.list(name, limit: Limits.standard.pageSize) { (message) throws(ChatError) in
                        try Message(from: &message)
                    }
                case "rev": rev = try value.integer()
                case "cursor": next = try value.null() ? nil : Self.cursor(value.string())
                default: try value.skip()
                }
            }
            self.init(messages: try messages.required("messages"), rev: try rev.required("rev"), next: next)
        }

        package func writeMembers(to writer: inout JSONWriter) {
            writer.key("messages")
            writer.array(messages) { $1.write(to: &$0) }
            writer.field("rev", rev)
            writer.field("cursor", next.map(String.init))
        }

        fileprivate static func cursor(_ text: String) throws(ChatError) -> Seq {
            guard let seq = Seq(text), seq > 0 else {
                throw .invalidParameter("cursor", "must be the cursor of the previous page")
            }
            return seq
        }
    }

    package var conversation: ConversationID
    /// The sequence number below which to list; `nil` for the first page.
    package var below: Seq?
    package var limit: Int

    package init(conversation: ConversationID, below: Seq? = nil, limit: Int = 20) {
        self.conversation = conversation
        self.below = below
        self.limit = limit
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        let page = try Paging(from: &request)
        below = try page.cursor.map { (text) throws(ChatError) in try Answer.cursor(text) }
        limit = page.limit
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        Paging(limit: limit, cursor: below.map(String.init)).writeMembers(to: &writer)
    }
}
