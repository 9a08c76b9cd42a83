package import ScrollbackModel

/// Counts the messages of conversations since a time.
package struct CountMessages: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "counts", http: .post("/v1/history/counts"), scope: .read, callers: .anyUser,
        cost: .read, tag: .messages,
        summary: "Count the messages of conversations since a time",
        details: """
            Where the server keeps messages forever, it counts the messages of the last days only. The setting \
            `countWindowDays` says how many days.
            """)

    /// The count of each conversation, or the reason why the caller can't get it.
    package struct Answer: DecodableAnswer {
        package static let schema: JSONSchema? = .object([
            .init("counts", .map(.integer(0...Int.max)), "By conversation."),
            .init(
                "errors", .map(.component("Problem")), isRequired: false,
                "Why the other conversations have no count, by conversation."),
        ])

        package typealias Count = (conversation: ConversationID, count: Result<Int64, ChatError>)

        package var counts: [Count]

        package init(counts: [Count]) {
            self.counts = counts
        }

        package init(from reader: inout JSONReader) throws(ChatError) {
            var counts: [Count] = []
            try reader.object { (name, value) throws(ChatError) in
                switch name {
                case "counts":
                    try value.object { (name, count) throws(ChatError) in
                        counts.append((try ConversationID(name), .success(try count.counter())))
                    }
                case "errors":
                    try value.object { (name, error) throws(ChatError) in
                        counts.append((try ConversationID(name), .failure(try ChatError(problem: &error))))
                    }
                default: try value.skip()
                }
            }
            self.init(counts: counts)
        }

        package func writeMembers(to writer: inout JSONWriter) {
            writer.key("counts")
            writer.object { writer in
                for case (let id, .success(let count)) in counts {
                    writer.key(escaping: id.description)
                    writer.value(count)
                }
            }
            let failures = counts.filter { if case .failure = $0.count { true } else { false } }
            guard !failures.isEmpty else { return }
            writer.key("errors")
            writer.object { writer in
                for case (let id, .failure(let error)) in failures {
                    writer.key(id.description)
                    error.writeProblem(to: &writer)
                }
            }
        }
    }

    /// Each conversation with the time from which to count.
    ///
    /// The message at that time counts too.
    package var since: [(conversation: ConversationID, time: Timetoken)]

    package init(since: [(conversation: ConversationID, time: Timetoken)]) {
        self.since = since
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        let example = #"{"group:swift":\#(Timetoken.example)}"#
        since = try request.required(
            "since", .map(Timetoken.schema, count: 1...FetchQuery.maximumConversations), example: example,
            "The time from which to count, by conversation. The message at that time counts too."
        ) { (value) throws(ChatError) in try Self.times(&value) }
    }

    /// - Throws: `invalidParameter` when a conversation is there twice: the answer has one count for each.
    static func times(
        _ reader: inout JSONReader
    ) throws(ChatError) -> [(conversation: ConversationID, time: Timetoken)] {
        var since: [(conversation: ConversationID, time: Timetoken)] = []
        var seen: Set<ConversationID> = []
        try reader.object { (name, time) throws(ChatError) in
            let id = try ConversationID(name, parameter: "since")
            guard seen.insert(id).inserted else {
                throw .invalidParameter("since", "must name each conversation once: \(id) is there twice")
            }
            guard time.nextIsString else { throw .invalidParameter("since", "must have a string for each time") }
            since.append((id, try time.timetoken("since")))
        }
        return since
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.key("since")
        writer.object { writer in
            for (conversation, time) in since {
                writer.key(escaping: conversation.description)
                writer.value(time.description)
            }
        }
    }
}
