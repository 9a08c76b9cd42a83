package import ScrollbackModel

/// Returns a conversation's head, the caller's state in it, and its settings.
package struct GetConversation: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "conversation", http: .get("/v1/conversations/{conversation}"), scope: .read,
        callers: .permission([.read]), cost: .read, tag: .conversations,
        summary: "Get a conversation's head, your state in it, and its settings", errors: [404])

    package struct Answer: DecodableAnswer {
        package static let schema: JSONSchema? = .component("Head")

        package var head: ConversationHead
        /// `nil` for a former member.
        package var settings: ConversationSettings?

        package init(head: ConversationHead, settings: ConversationSettings?) {
            self.head = head
            self.settings = settings
        }

        package init(from reader: inout JSONReader) throws(ChatError) {
            var copy = reader
            let head = try ConversationHead(from: &copy)
            var settings: ConversationSettings?
            try reader.object { (name, value) throws(ChatError) in
                guard name == "settings", try !value.null() else { return try value.skip() }
                var members = RequestReader(frame: try JSONMembers(nested: &value), limits: .standard)
                settings = try ConversationSettings(from: &members)
            }
            self.init(head: head, settings: settings)
        }

        package func writeMembers(to writer: inout JSONWriter) {
            head.writeMembers(to: &writer)
            guard let settings else { return }
            writer.key("settings")
            writer.object { settings.writeMembers(to: &$0) }
        }
    }

    package var conversation: ConversationID

    package init(conversation: ConversationID) {
        self.conversation = conversation
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
    }
}
