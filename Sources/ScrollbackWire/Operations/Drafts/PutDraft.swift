package import ScrollbackModel

/// Stores or deletes the caller's draft in a conversation.
package struct PutDraft: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "putDraft", http: .put("/v1/drafts/{conversation}"), scope: .account, callers: .anyUser,
        cost: .write, tag: .conversations,
        summary: "Store or delete your draft in a conversation",
        details: """
            Only your own devices get it, and the last request wins. The server does not interpret the draft, and does \
            not check that the conversation exists. A user can have drafts in 100 conversations.
            """,
        errors: [409, 413])

    package struct Answer: DecodableAnswer {
        package static let schema: JSONSchema? = .object([
            .init("rev", .integer(0...Int.max), "The user revision of the change. A draft with a higher one is newer.")
        ])

        package var rev: Int64

        package init(rev: Int64) {
            self.rev = rev
        }

        package init(from reader: inout JSONReader) throws(ChatError) {
            var rev: Int64?
            try reader.object { (name, value) throws(ChatError) in
                if name == "rev" { rev = try value.counter() } else { try value.skip() }
            }
            self.init(rev: try rev.required("rev"))
        }

        package func writeMembers(to writer: inout JSONWriter) {
            writer.field("rev", rev)
        }
    }

    package var conversation: ConversationID
    /// The draft, a JSON object; `nil` deletes it.
    package var draft: RawJSON?

    package init(conversation: ConversationID, draft: RawJSON?) {
        self.conversation = conversation
        self.draft = draft
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        draft = try request.optional(
            "draft", .component("JSONObject"), example: #"{"text":"see you at"}"#,
            "The draft, at most 128 KiB of JSON. `null` or no draft deletes the stored one."
        ) { (value) throws(ChatError) in
            let json = try value.raw()
            guard json.isObject else { throw .invalidParameter("draft", "must be a JSON object") }
            return json
        }
        let limit = request.limits.contentBytes
        guard draft?.text.utf8.count ?? 0 <= limit else {
            throw ChatError(
                .tooLarge, "A draft must have at most \(limit) bytes of JSON.", parameter: "draft", limit: limit)
        }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.field("draft", draft)
    }
}
