package import ScrollbackModel

/// Replaces the content of a message.
package struct EditMessage: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "edit", http: .patch("/v1/conversations/{conversation}/messages/{id}"), scope: .write,
        callers: .permission([.editOwn, .editOthers]), cost: .message, tag: .messages,
        summary: "Edit a message",
        details: "Attributes that the request leaves out stay the same. An attribute that is `null` is removed.",
        errors: [404, 409])

    /// The message as it is now.
    package struct Answer: DecodableAnswer {
        package static let schema = Message.schema

        package var message: Message

        package init(message: Message) {
            self.message = message
        }

        package init(from reader: inout JSONReader) throws(ChatError) {
            var message: Message?
            try reader.object { (name, value) throws(ChatError) in
                if name == "message" { message = try Message(from: &value) } else { try value.skip() }
            }
            self.init(message: try message.required("message"))
        }

        package func writeMembers(to writer: inout JSONWriter) {
            writer.key("message")
            message.write(to: &writer)
        }

        package func writeBody(to writer: inout JSONWriter) {
            message.writeMembers(to: &writer)
        }
    }

    package var conversation: ConversationID
    package var id: MessageID
    package var edit: MessageEdit
    /// The key that makes a retry harmless.
    ///
    /// WebSocket requests must have it.
    package var operation: MessageID?

    package init(conversation: ConversationID, id: MessageID, edit: MessageEdit, operation: MessageID?) {
        self.conversation = conversation
        self.id = id
        self.edit = edit
        self.operation = operation
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        id = try request.required("id")
        edit = try request.nested("edit", .component("Edit")) { (request) throws(ChatError) in
            try MessageEdit(from: &request)
        }
        operation = try request.operation()
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.field("id", id)
        writer.field("operation", operation)
        writer.key("edit")
        writer.object { edit.writeMembers(to: &$0) }
    }
}

extension MessageEdit {
    fileprivate init(from request: inout RequestReader) throws(ChatError) {
        let type: MessageType? = try request.omittable("type", "The type of the message. The default is `text`.")
        let content = try request.required(
            "content", .component("JSONObject"), example: #"{"text":"hi there"}"#,
            "The new content: at most 128 KiB of JSON, of the type that the message has."
        ) { (value) throws(ChatError) in try value.raw() }
        let mentions = try request.change(
            "mentions", .component("Mentions"), example: #"{"users":["bob"]}"#
        ) { (value) throws(ChatError) in try Mentions(from: &value) }
        let metadata = try request.change(
            "metadata", .component("JSONObject"), example: #"{"color":"blue"}"#
        ) { (value) throws(ChatError) in try value.rawObject("metadata") }
        let extra = try request.change(
            "extra", .component("JSONValue"), example: "[1,2]"
        ) { (value) throws(ChatError) in try value.raw() }
        let customType = try request.change(
            "customType", .component("CustomType"), example: #""poll""#
        ) { (value) throws(ChatError) in try value.customType() }

        try Limits.check(content, "content", request.limits.contentBytes)
        try request.limits.check(attribute: metadata.applied(to: nil), "metadata")
        try request.limits.check(attribute: extra.applied(to: nil), "extra")
        self.init(
            try Self.content(content, of: type), mentions: mentions, metadata: metadata, extra: extra,
            customType: customType)
    }

    /// Reads the new content of a message, which is a text if the request has no type.
    ///
    /// - Throws: `invalid-parameter` with the name `type` if it is missing and the content is not that of a text.
    private static func content(_ json: RawJSON, of type: MessageType?) throws(ChatError) -> MessageContent {
        do throws(ChatError) {
            return try MessageContent(anyType: type ?? .text, json: json)
        } catch {
            var reader = JSONReader(json.text)
            guard type == nil, error.parameter == "content", let members = try? JSONMembers(&reader),
                members["text"] == nil
            else { throw error }
            throw .invalidParameter(
                "type",
                #"is missing, so content must have a string "text". If the message has another type, set type to it."#)
        }
    }
}

extension Message: DecodableAnswer {
    package static let schema: JSONSchema? = .component("Message")
}
