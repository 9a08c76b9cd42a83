package import ScrollbackModel
package import ScrollbackWire

/// Creates or changes a conversation.
package struct PutConversation: ChatOperation {
    package static let endpoint = Endpoint(
        "putConversation", http: .put("/v1/conversations/{conversation}"), scope: .manage,
        caller: .permission([.changeSettings, .create]), cost: .write, tag: .conversations,
        summary: "Create or change a conversation",
        details: "Parameters that are missing or `null` keep their value.",
        errors: [404, 409])

    package struct Answer: OperationAnswer {
        package static let schema: JSONSchema? = .object([.init("conversation", .component("ConversationID"))])
        package static let statuses = [200, 201]

        package var conversation: ConversationID
        /// Whether the operation created the conversation.
        package var isNew: Bool
        package var status: Int { isNew ? 201 : 200 }

        package func writeMembers(to writer: inout JSONWriter) {
            writer.field("conversation", conversation)
        }
    }

    package var conversation: ConversationID
    package var settings: ConversationSettings

    package init(conversation: ConversationID, settings: ConversationSettings) {
        self.conversation = conversation
        self.settings = settings
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        settings = ConversationSettings()
        settings.name = try request.optional(
            "name", .string(bytes: 0...128), example: #""Swift""#,
            "At most 128 bytes of UTF-8 without control characters."
        ) { (value) throws(ChatError) in try UserProfile.name(value.string()) }
        settings.avatar = try request.optional(
            "avatar", .string(bytes: 0...2048), example: #""https://example.com/swift.png""#,
            "The `http` or `https` URL of a picture, at most 2,048 bytes of UTF-8."
        ) { (value) throws(ChatError) in try UserProfile.avatar(value.string()) }
        settings.visibility = try request.optional("historyVisibility")
        settings.isFrozen = try request.optional(
            "frozen",
            """
            Whether only moderators, owners and administrators can write. In a community this covers all of its \
            channels. Direct conversations can't be frozen, and have no name and no avatar.
            """)
        settings.capacity = try request.optional(
            "capacity", .anyOf([.integer(ConversationSettings.capacities), .choice(["unlimited"])]), example: "1000",
            "The most subscribers of a room."
        ) { (value) throws(ChatError) in try value.capacity() }
        settings.isPrivate = try request.optional(
            "private", "Whether a channel of a community has members of its own.")
        settings.retention = try request.optional(
            "retentionDays", .anyOf([.component("Retention"), .choice(["default"])]), example: "30",
            "How long messages are kept. `default` applies the server's setting."
        ) { (value) throws(ChatError) in try value.retention() }
        settings.metadata = try request.optional("metadata", .component("JSONObject"), example: "{}") {
            (value) throws(ChatError) in
            let json = try value.raw()
            guard json.isObject else { throw .invalidParameter("metadata", "must be a JSON object") }
            return json
        }
        settings.members =
            try request.optional(
                "members", .array(.component("UserID"), count: 0...1000), example: #"["alice","bob"]"#,
                "The first members. Only for a new conversation whose kind has a list of members."
            ) { (value) throws(ChatError) in
                try value.list("members", limit: 1000) { (user) throws(ChatError) in try user.user("members") }
            } ?? []
        try request.limits.check(attribute: settings.metadata, "metadata")
    }
}

extension PutConversation: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<Answer>) {
        context.engine.putConversation(conversation, settings, by: context.caller) { result in
            if case .success = result, settings.retention != nil { context.startCleanup() }
            completion(result.map { Answer(conversation: conversation, isNew: $0) })
        }
    }
}

extension JSONReader {
    /// Reads the most subscribers of a room, or `nil` for no limit.
    fileprivate mutating func capacity() throws(ChatError) -> Int? {
        if nextIsString {
            guard try string() == "unlimited" else {
                throw .invalidParameter("capacity", "must be a number of subscribers, or \"unlimited\"")
            }
            return nil
        }
        guard let capacity = Int(exactly: try integer()) else {
            throw .invalidParameter("capacity", "must be in range")
        }
        return capacity
    }

    /// Reads how long a conversation's messages are kept, or `nil` for the server's setting.
    fileprivate mutating func retention() throws(ChatError) -> RetentionPolicy? {
        var copy = self
        if nextIsString, try copy.string() == "default" {
            self = copy
            return nil
        }
        return try RetentionPolicy(from: &self)
    }
}
