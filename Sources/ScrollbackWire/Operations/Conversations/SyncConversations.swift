package import ScrollbackModel

/// Returns what changed since the client's last sync: the heads of conversations, or the changes of logs.
package struct SyncConversations: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "sync", scope: .read, callers: .anyUser, cost: .read, tag: .conversations,
        summary: "Get what changed since the last sync",
        details: """
            With `positions`, the answer has the changes of these logs: at most 500 messages each and 2,000 in all. \
            Without `positions`, the answer is the next window of conversations that changed after `cursor`.
            """)

    /// What the request asks for.
    package enum Scope: Hashable, Sendable {
        case window(cursor: String?, limit: Int)
        case logs([LogPosition])
    }

    package enum Answer: DecodableAnswer {
        case window(HeadWindow)
        case logs([LogSyncResult])

        package static let schema: JSONSchema? = .anyOf([
            .object([
                .init("heads", .array(.component("Head"))),
                .init("cursor", .string(), "Pass it to get the next window or, after the last one, later changes."),
                .init("done", .boolean, "Whether this is the last window."),
                .init("totals", .component("UnreadTotals"), isRequired: false, "Only in a new device's first window."),
                .init(
                    "drafts", .boolean, isRequired: false,
                    "Whether your drafts changed since the cursor. Only in the last window."),
            ]),
            .object([.init("logs", .array(.component("LogSync")))]),
        ])

        package init(from reader: inout JSONReader) throws(ChatError) {
            var whole = reader
            var hasLogs = false
            try reader.object { (name, value) throws(ChatError) in
                if name == "logs" { hasLogs = true }
                try value.skip()
            }
            self =
                hasLogs ? .logs(try LogSyncResult.list(&whole)) : .window(try HeadWindow(from: &whole))
        }

        package func writeMembers(to writer: inout JSONWriter) {
            switch self {
            case .window(let window): window.writeMembers(to: &writer)
            case .logs(let answers):
                writer.key("logs")
                writer.array(answers) { $1.write(to: &$0) }
            }
        }
    }

    /// The most logs in one request.
    package static let maximumPositions = 100
    /// The most conversations in one window.
    package static let maximumWindow = 500

    package var scope: Scope

    package static func window(cursor: String?, limit: Int) -> SyncConversations {
        SyncConversations(scope: .window(cursor: cursor, limit: limit))
    }

    package static func logs(_ positions: [LogPosition]) -> SyncConversations {
        SyncConversations(scope: .logs(positions))
    }

    private init(scope: Scope) {
        self.scope = scope
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        let cursor: String? = try request.optional("cursor", "The `cursor` of the last answer.")
        let range = 1...Self.maximumWindow
        let limit =
            try request.omittable(
                "limit", .integer(range), example: "50", "How many heads to return at most. The default is 50."
            ) { (value) throws(ChatError) in try value.integer() } ?? 50
        let positions = try request.omittable(
            "positions", .array(.component("Position"), count: 0...Self.maximumPositions),
            example: #"[{"conversation":"group:swift","epoch":"8134902211640721931","seq":12}]"#,
            "Where the client's copy of each log ends."
        ) { (value) throws(ChatError) in
            try value.list("positions", limit: Self.maximumPositions) { (position) throws(ChatError) in
                try LogPosition(from: &position)
            }
        }
        if let positions {
            scope = .logs(positions)
        } else {
            guard let count = Int(exactly: limit), range.contains(count) else {
                throw .invalidParameter("limit", "must be in 1...\(Self.maximumWindow)", limit: Self.maximumWindow)
            }
            scope = .window(cursor: cursor, limit: count)
        }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        switch scope {
        case .window(let cursor, let limit):
            writer.field("cursor", cursor)
            writer.field("limit", limit)
        case .logs(let positions):
            writer.key("positions")
            writer.array(positions) { $1.write(to: &$0) }
        }
    }
}

extension LogSyncResult {
    /// Reads the answer to a request with positions.
    package static func list(_ reader: inout JSONReader) throws(ChatError) -> [LogSyncResult] {
        var answers: [LogSyncResult] = []
        try reader.object { (name, value) throws(ChatError) in
            guard name == "logs" else { return try value.skip() }
            answers = try value.list("logs", limit: 500) { (answer) throws(ChatError) in
                try LogSyncResult(from: &answer)
            }
        }
        return answers
    }
}
