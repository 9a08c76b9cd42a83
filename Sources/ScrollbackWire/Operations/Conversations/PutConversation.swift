package import ScrollbackModel

/// Creates or changes a conversation.
package struct PutConversation: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "putConversation", http: .put("/v1/conversations/{conversation}"), scope: .manage,
        callers: .permission([.changeSettings, .create]), cost: .write, tag: .conversations,
        summary: "Create or change a conversation",
        details: "Parameters that are missing or `null` keep their value.",
        errors: [404, 409])

    package struct Answer: DecodableAnswer {
        package static let schema: JSONSchema? = .object([.init("conversation", .component("ConversationID"))])
        package static let statuses = [200, 201]

        /// `nil` in an answer that a client received, which doesn't name the conversation.
        package var conversation: ConversationID?
        /// Whether the operation created the conversation.
        package var isNew: Bool
        package var status: Int { isNew ? 201 : 200 }

        package init(conversation: ConversationID?, isNew: Bool) {
            self.conversation = conversation
            self.isNew = isNew
        }

        package init(from reader: inout JSONReader) throws(ChatError) {
            var isNew = false
            try reader.object { (name, value) throws(ChatError) in
                if name == "isNew" { isNew = try value.bool() } else { try value.skip() }
            }
            self.init(conversation: nil, isNew: isNew)
        }

        package func writeMembers(to writer: inout JSONWriter) {
            writer.field("isNew", isNew)
        }

        package func writeBody(to writer: inout JSONWriter) {
            writer.field("conversation", conversation)
        }
    }

    package var conversation: ConversationID
    package var settings: ConversationSettings
    /// Whether the conversation must exist; `nil` creates or changes it.
    package var exists: Bool?
    /// The key that makes a retry harmless.
    ///
    /// WebSocket requests must have it.
    package var operation: MessageID?

    package init(
        conversation: ConversationID, settings: ConversationSettings, exists: Bool? = nil,
        operation: MessageID? = nil
    ) {
        self.conversation = conversation
        self.settings = settings
        self.exists = exists
        self.operation = operation
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        settings = try ConversationSettings(from: &request)
        exists = try request.optional(
            "exists",
            """
            Whether the conversation must exist. `false` refuses to change one with `conflict`, and `true` refuses to \
            create one with `unknown-conversation`.
            """)
        operation = try request.operation()
    }

    package var tokens: Int { max(1, settings.members.count) }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        settings.writeMembers(to: &writer)
        writer.field("exists", exists)
        writer.field("operation", operation)
    }
}

extension ConversationSettings {
    /// Reads the settings among the parameters of a request.
    package init(from request: inout RequestReader) throws(ChatError) {
        self.init()
        name = try request.optional(
            "name", .string(bytes: 0...128), example: #""Swift""#,
            "At most 128 bytes of UTF-8 without control characters."
        ) { (value) throws(ChatError) in try UserProfile.name(value.string()) }
        avatar = try request.optional(
            "avatar", .string(bytes: 0...2048), example: #""https://example.com/swift.png""#,
            "The `http` or `https` URL of a picture, at most 2,048 bytes of UTF-8."
        ) { (value) throws(ChatError) in try UserProfile.avatar(value.string()) }
        visibility = try request.optional("historyVisibility")
        isFrozen = try request.optional(
            "frozen",
            """
            Whether only moderators, owners and administrators can write. In a community this covers all of its \
            channels. Direct conversations can't be frozen, and have no name and no avatar.
            """)
        capacity =
            try request.optional(
                "capacity", .anyOf([.integer(ConversationSettings.capacities), .choice(["unlimited"])]),
                example: "1000", "The most subscribers of a room."
            ) { (value) throws(ChatError) in try value.capacity() } ?? .keep
        isPrivate = try request.optional(
            "private", "Whether a channel of a community has members of its own.")
        retention =
            try request.optional(
                "retentionDays", .anyOf([.component("Retention"), .choice(["default"])]), example: "30",
                "How long messages are kept. `default` applies the server's setting."
            ) { (value) throws(ChatError) in try value.retention() } ?? .keep
        metadata = try request.optional("metadata", .component("JSONObject"), example: "{}") {
            (value) throws(ChatError) in
            let json = try value.raw()
            guard json.isObject else { throw .invalidParameter("metadata", "must be a JSON object") }
            return json
        }
        members =
            try request.optional(
                "members", .array(.component("UserID"), count: 0...Self.maximumMembers), example: #"["alice","bob"]"#,
                "The first members. Only for a new conversation whose kind has a list of members."
            ) { (value) throws(ChatError) in
                try value.list("members", limit: Self.maximumMembers) { (user) throws(ChatError) in
                    try user.user("members")
                }
            } ?? []
        try request.limits.check(attribute: metadata, "metadata")
    }

    /// Writes the given settings under the names that ``init(from:)`` reads.
    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("name", name)
        writer.field("avatar", avatar)
        writer.field("historyVisibility", visibility?.rawValue)
        writer.field("frozen", isFrozen)
        switch capacity {
        case .keep: break
        case .remove: writer.field("capacity", "unlimited")
        case .set(let capacity): writer.field("capacity", capacity)
        }
        writer.field("private", isPrivate)
        switch retention {
        case .keep: break
        case .remove: writer.field("retentionDays", "default")
        case .set(let policy):
            writer.key("retentionDays")
            policy.write(to: &writer)
        }
        writer.field("metadata", metadata)
        guard !members.isEmpty else { return }
        writer.key("members")
        writer.array(members) { $0.value($1.text) }
    }
}

extension JSONReader {
    /// Reads the most subscribers of a room, or that there is no limit.
    fileprivate mutating func capacity() throws(ChatError) -> ConversationSettings.Change<Int> {
        if nextIsString {
            guard try string() == "unlimited" else {
                throw .invalidParameter("capacity", "must be a number of subscribers, or \"unlimited\"")
            }
            return .remove
        }
        guard let capacity = Int(exactly: try integer()) else {
            throw .invalidParameter("capacity", "must be in range")
        }
        return .set(capacity)
    }

    /// Reads how long a conversation's messages are kept, or that the server's setting applies.
    fileprivate mutating func retention() throws(ChatError) -> ConversationSettings.Change<RetentionPolicy> {
        var copy = self
        if nextIsString, try copy.string() == "default" {
            self = copy
            return .remove
        }
        return .set(try RetentionPolicy(from: &self))
    }
}
