package import ScrollbackModel

/// Moves the caller's read position up in several conversations.
package struct MarkSeveralRead: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "readMany", http: .post("/v1/read"), scope: .account, callers: .anyUser,
        cost: .write, tag: .conversations,
        summary: "Mark several conversations as read",
        details: """
            Give `conversations`, or select conversations with `kind` or `all`. Each element of `conversations` gets \
            an answer of its own. For a selection the answer is the number of conversations.
            """,
        errors: [404, 409])

    /// Which conversations the request reads.
    package enum Selection: Hashable, Sendable {
        case marks([ReadMark])
        /// Conversations of one kind or, for `nil`, of all kinds, up to a time or, for `nil`, up to the newest message.
        case all(kind: ConversationKind?, upTo: Timetoken?)
    }

    package enum Answer: DecodableAnswer {
        /// The result for each element of `conversations`.
        case reads([ReadResult])
        /// The number of conversations that were read.
        case count(Int)

        package static let schema: JSONSchema? = .object([
            .init(
                "reads", .array(.component("ReadAnswer")), isRequired: false,
                "One result for each element of `conversations`."),
            .init(
                "read", .integer(0...Int.max), isRequired: false, "The number of conversations that were read."),
        ])

        package init(from reader: inout JSONReader) throws(ChatError) {
            var count: Int64?
            var reads = reader
            try reader.object { (name, value) throws(ChatError) in
                if name == "read" { count = try value.counter() } else { try value.skip() }
            }
            if let count {
                self = .count(try Int(exactly: count).required("read"))
            } else {
                self = .reads(try ReadResult.list(&reads))
            }
        }

        package func writeMembers(to writer: inout JSONWriter) {
            switch self {
            case .reads(let answers): ReadResult.write(answers, to: &writer)
            case .count(let count): writer.field("read", count)
            }
        }
    }

    package var selection: Selection

    package init(_ marks: [ReadMark]) {
        selection = .marks(marks)
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        let marks = try request.omittable(
            "conversations", .array(.component("ReadMark"), count: 0...ReadMark.maximum),
            example: #"[{"conversation":"group:swift","seq":12,"epoch":"8134902211640721931"}]"#,
            "The conversations and the place up to which each is read. Excludes the other parameters."
        ) { (value) throws(ChatError) in try ReadMark.list(&value) }
        request.recordRequiredInFrames()
        let kind: ConversationKind? = try request.optional("kind", on: .http, "Reads the conversations of this kind.")
        let isAll: Bool? = try request.optional("all", on: .http, "Reads all conversations.")
        let time: Timetoken? = try request.optional(
            "upTo", on: .http,
            "Reads messages up to this time, or all messages without it. Removes marks as unread in both cases.")
        if let marks {
            guard kind == nil, isAll == nil, time == nil else {
                throw .invalidParameter("conversations", "goes with neither kind nor all nor upTo")
            }
            selection = .marks(marks)
        } else {
            guard kind == nil || isAll != true else {
                throw .invalidParameter("all", "can't be used together with kind")
            }
            guard kind != nil || isAll == true else {
                throw .invalidParameter("conversations", "is missing: give conversations, or kind, or all: true")
            }
            selection = .all(kind: kind, upTo: time)
        }
    }

    package var tokens: Int {
        guard case .marks(let marks) = selection else { return 1 }
        return 1 + marks.count / 10
    }

    package func writeMembers(to writer: inout JSONWriter) {
        switch selection {
        case .marks(let marks):
            writer.key("conversations")
            writer.array(marks) { $1.write(to: &$0) }
        case .all(let kind, let time):
            if let kind { writer.field("kind", kind.rawValue) } else { writer.field("all", true) }
            writer.field("upTo", time)
        }
    }
}
