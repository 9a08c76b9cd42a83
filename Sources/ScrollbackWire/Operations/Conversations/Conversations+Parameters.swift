package import ScrollbackModel

// Types of parameters and answers that several areas share.

extension ConversationKind: ChoiceParameterValue {
    package static let schema = JSONSchema.component("ConversationKind")
}

extension HistoryVisibility: ChoiceParameterValue {
    package static let schema = JSONSchema.component("HistoryVisibility")
}

extension ConversationHead: DecodableAnswer {
    package static let schema: JSONSchema? = .component("Head")
}

/// Heads of conversations.
package struct HeadList: DecodableAnswer {
    package static let schema: JSONSchema? = .object([
        .init("heads", .array(.component("Head"))),
        .init(
            "rest", .array(.component("ConversationID")), isRequired: false,
            "Conversations that didn't fit into the answer. Request them again. Absent when all fit."),
    ])

    package var heads: [ConversationHead]
    /// The requested conversations that didn't fit into the answer.
    package var rest: [ConversationID]

    package init(heads: [ConversationHead], rest: [ConversationID] = []) {
        self.heads = heads
        self.rest = rest
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var heads: [ConversationHead] = []
        var rest: [ConversationID] = []
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "heads":
                heads = try value.list("heads", limit: 500) { (head) throws(ChatError) in
                    try ConversationHead(from: &head)
                }
            case "rest":
                rest = try value.list("rest", limit: GetHeads.maximum) { (id) throws(ChatError) in
                    try id.conversation()
                }
            default: try value.skip()
            }
        }
        self.init(heads: heads, rest: rest)
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.key("heads")
        writer.array(heads) { $1.write(to: &$0) }
        guard !rest.isEmpty else { return }
        writer.key("rest")
        writer.array(rest) { $0.value($1.description) }
    }
}

extension RequestReader {
    /// Reads the list of conversations of a WebSocket request.
    package mutating func conversations(
        limit: Int, _ description: String = ""
    ) throws(ChatError) -> [ConversationID] {
        try required(
            "conversations", .array(.component("ConversationID"), count: 0...limit), example: #"["group:swift"]"#,
            description
        ) { (value) throws(ChatError) in
            try value.list("conversations", limit: limit) { (id) throws(ChatError) in
                try id.conversation("conversations")
            }
        }
    }
}

extension JSONWriter {
    /// Writes the list of conversations of a WebSocket request.
    mutating func conversations(_ conversations: [ConversationID]) {
        key("conversations")
        array(conversations) { $0.value($1.description) }
    }
}
