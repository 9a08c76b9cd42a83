package import ScrollbackModel

/// Gets the current state of messages.
package struct RefreshMessages: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "refresh", http: .post("/v1/history/refresh"), scope: .read, callers: .anyUser,
        cost: .read, tag: .messages,
        summary: "Get the current state of messages",
        details: "A message that is in the request twice is in the answer once.")

    /// The largest number of messages in one request.
    package static let maximumMessages = 20

    /// Each message, or the reason why the caller can't get it.
    package struct Answer: DecodableAnswer {
        package static let schema: JSONSchema? = .object([
            .init("matched", .array(.component("Message")), "The messages as they are now."),
            .init(
                "notMatched",
                .array(
                    .object([
                        .init("conversation", .component("ConversationID")), .init("id", .component("MessageID")),
                        .init("error", .component("Problem")),
                    ])), "The messages that don't exist any more or that the caller can't see."),
        ])

        package typealias Element = (reference: MessageReference, result: Result<Message, ChatError>)

        package var messages: [Element]

        package init(messages: [Element]) {
            self.messages = messages
        }

        package init(from reader: inout JSONReader) throws(ChatError) {
            var messages: [Element] = []
            try reader.object { (name, value) throws(ChatError) in
                switch name {
                case "matched":
                    try value.array { (message) throws(ChatError) in
                        let message = try Message(from: &message)
                        messages.append((MessageReference(message.id, in: message.conversation), .success(message)))
                    }
                case "notMatched":
                    try value.array { (failure) throws(ChatError) in
                        var error: ChatError?
                        var whole = failure
                        try failure.object { (name, value) throws(ChatError) in
                            if name == "error" { error = try ChatError(problem: &value) } else { try value.skip() }
                        }
                        messages.append((try MessageReference(from: &whole), .failure(try error.required("error"))))
                    }
                default: try value.skip()
                }
            }
            self.init(messages: messages)
        }

        package func writeMembers(to writer: inout JSONWriter) {
            writer.key("matched")
            writer.array(messages.compactMap { try? $0.result.get() }) { $1.write(to: &$0) }
            writer.key("notMatched")
            let failures = messages.compactMap { message in
                if case .failure(let error) = message.result { (message.reference, error) } else { nil }
            }
            writer.array(failures) { writer, failure in
                writer.object { writer in
                    failure.0.writeMembers(to: &writer)
                    writer.key("error")
                    failure.1.writeProblem(to: &writer)
                }
            }
        }
    }

    package var messages: [MessageReference]

    package init(messages: [MessageReference]) {
        self.messages = messages
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        let example = #"[{"conversation":\#(ConversationID.example),"id":\#(MessageID.example)}]"#
        messages = try request.required(
            "messages", .array(.component("MessageReference"), count: 1...Self.maximumMessages), example: example
        ) { (value) throws(ChatError) in
            try value.list("messages", limit: Self.maximumMessages) { (reference) throws(ChatError) in
                try MessageReference(from: &reference)
            }
        }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.key("messages")
        writer.array(messages) { writer, reference in writer.object { reference.writeMembers(to: &$0) } }
    }
}
