package import ScrollbackModel

/// Lists the caller's drafts that changed since an earlier list.
package struct ListDrafts: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "drafts", http: .get("/v1/drafts"), scope: .read, callers: .anyUser, cost: .read,
        tag: .conversations,
        summary: "List your drafts that changed since an earlier list",
        details: """
            In the order of their changes, about 512 KiB at most. Without a `cursor`, or if the server was restored \
            from a backup since, the list begins with the first draft, and `reset` is true.
            """)

    package struct Answer: DecodableAnswer {
        package static let schema: JSONSchema? = .object([
            .init("drafts", .array(.component("SyncedDraft"))),
            .init("cursor", .string(), "Pass it to get the drafts that change from now on."),
            .init("more", .boolean, "Whether more drafts follow."),
            .init("reset", .boolean, "Whether the list begins with the first draft."),
        ])

        package var drafts: [SyncedDraft]
        package var cursor: String
        package var hasMore: Bool
        package var isReset: Bool

        package init(drafts: [SyncedDraft], cursor: String, hasMore: Bool, isReset: Bool) {
            self.drafts = drafts
            self.cursor = cursor
            self.hasMore = hasMore
            self.isReset = isReset
        }

        package init(from reader: inout JSONReader) throws(ChatError) {
            var drafts: [SyncedDraft]?
            var cursor: String?
            var (hasMore, isReset) = (false, false)
            try reader.object { (name, value) throws(ChatError) in
                switch name {
                case "drafts":
                    drafts = try value.list(name, limit: Limits.standard.pageSize) { (draft) throws(ChatError) in
                        try SyncedDraft(from: &draft)
                    }
                case "cursor": cursor = try value.string()
                case "more": hasMore = try value.bool()
                case "reset": isReset = try value.bool()
                default: try value.skip()
                }
            }
            self.init(
                drafts: try drafts.required("drafts"), cursor: try cursor.required("cursor"), hasMore: hasMore,
                isReset: isReset)
        }

        package func writeMembers(to writer: inout JSONWriter) {
            writer.key("drafts")
            writer.array(drafts) { writer, draft in writer.object { draft.writeMembers(to: &$0) } }
            writer.field("cursor", cursor)
            writer.field("more", hasMore)
            writer.field("reset", isReset)
        }
    }

    /// The cursor of the earlier list; `nil` to begin with the first draft.
    package var cursor: String?

    package init(cursor: String? = nil) {
        self.cursor = cursor
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        cursor = try request.optional("cursor", "The `cursor` of the earlier list.")
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("cursor", cursor)
    }
}

/// A draft as the server stores it.
package struct SyncedDraft: Hashable, Sendable {
    package var conversation: ConversationID
    /// A JSON object; `nil` if the draft was deleted.
    package var draft: RawJSON?
    /// The user revision of the change; of two drafts of a conversation, the one with the higher revision is newer.
    package var rev: Int64

    package init(conversation: ConversationID, draft: RawJSON?, rev: Int64) {
        self.conversation = conversation
        self.draft = draft
        self.rev = rev
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var conversation: ConversationID?
        var draft: RawJSON?
        var rev: Int64?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "conversation": conversation = try value.conversation()
            case "draft": draft = try value.null() ? nil : value.raw()
            case "rev": rev = try value.counter()
            default: try value.skip()
            }
        }
        self.init(
            conversation: try conversation.required("conversation"), draft: draft, rev: try rev.required("rev"))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.field("draft", draft)
        writer.field("rev", rev)
    }
}
