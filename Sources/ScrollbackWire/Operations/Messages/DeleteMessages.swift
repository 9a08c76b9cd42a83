package import ScrollbackModel

/// Deletes messages by ID.
package struct DeleteMessages: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "delete", http: .post("/v1/conversations/{conversation}/messages/delete"),
        scope: .write, callers: .permission([.recall, .deleteOthers]), cost: .write, tag: .messages,
        summary: "Delete messages by ID",
        details: """
            Users can delete their own messages for everyone, moderators the messages of others too. The server \
            deletes all of the messages or none. It ignores IDs of messages that don't exist. A tombstone without \
            content stays in the place of each message. With `for` set to `me` the messages are hidden from the \
            caller only.
            """,
        errors: [404])

    /// The largest number of messages in one request.
    package static let maximumIDs = 100

    /// How many messages a request deleted.
    package struct Answer: DecodableAnswer {
        package static let schema: JSONSchema? = .object([
            .init("deleted", .integer(0...Int.max), "How many messages the request deleted.")
        ])

        package var count: Int64

        package init(count: Int64) {
            self.count = count
        }

        package init(from reader: inout JSONReader) throws(ChatError) {
            var count: Int64?
            try reader.object { (name, value) throws(ChatError) in
                if name == "deleted" { count = try value.counter() } else { try value.skip() }
            }
            self.init(count: try count.required("deleted"))
        }

        package func writeMembers(to writer: inout JSONWriter) {
            writer.field("deleted", count)
        }
    }

    package var conversation: ConversationID
    package var ids: [MessageID]
    package var audience: DeletionAudience

    package init(conversation: ConversationID, ids: [MessageID], audience: DeletionAudience = .everyone) {
        self.conversation = conversation
        self.ids = ids
        self.audience = audience
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        ids = try request.required(
            "ids", .array(MessageID.schema, count: 1...Self.maximumIDs), example: "[\(MessageID.example)]"
        ) { (value) throws(ChatError) in
            try value.list("ids", limit: Self.maximumIDs) { (id) throws(ChatError) in try id.messageID("ids") }
        }
        audience = try request.deletionAudience()
    }

    package var tokens: Int { max(1, ids.count) }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.key("ids")
        writer.array(ids) { $0.value($1.description) }
        if audience == .me { writer.field("for", audience.rawValue) }
    }
}

extension RequestReader {
    /// Reads whose copies of messages a request deletes.
    package mutating func deletionAudience() throws(ChatError) -> DeletionAudience {
        try omittable("for", "Whose copies to delete: `everyone`, the default, or only your own with `me`.")
            ?? .everyone
    }
}
