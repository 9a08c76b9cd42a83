package import ScrollbackModel
package import ScrollbackWire

/// Sends delivered events to a webhook again.
package struct ReplayDeliveries: ChatOperation {
    package static let endpoint = Endpoint(
        http: .post("/v1/webhooks/{webhook}/replay"), scope: .admin, callers: .administrator,
        cost: .write, tag: .server,
        summary: "Send delivered events to a webhook again",
        details: """
            The webhook receives the events of each conversation in order, after the events that are pending. A replay \
            has a new delivery ID and names the first one in `replayOf`. Replays themselves are not sent again.
            """)

    package struct Answer: OperationAnswer {
        package static let schema: JSONSchema? = .object([
            .init("count", .integer(1...ReplayDeliveries.maximum), "How many events are sent again."),
            .init(
                "next", .integer(1...Int.max), isRequired: false,
                "If the range has more events: the number to pass as `from` in the next request."),
        ])

        package var count: Int
        package var next: Int64?

        package func writeMembers(to writer: inout JSONWriter) {
            writer.field("count", count)
            writer.field("next", next)
        }
    }

    /// The maximum number of events that one request sends again.
    package static let maximum = 100

    package var webhook: String
    package var from: Int64
    package var through: Int64

    package init(webhook: String, from: Int64, through: Int64) {
        self.webhook = webhook
        self.from = from
        self.through = through
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        webhook = try request.required("webhook", "The webhook's name. That of `webhooks.after` is `after`.")
        from = try request.number("from", "The number of the first delivery.")
        through = try request.number("through", "The number of the last delivery.")
    }
}

extension ReplayDeliveries: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> Answer {
        try context.engine.checkWebhook(webhook)
        guard from <= through else {
            throw ChatError.invalidParameter("through", "must be at least from (\(from))")
        }
        let rows = try transaction.store.delivered(to: webhook, from...through, limit: Self.maximum + 1)
        guard !rows.isEmpty else {
            throw ChatError.invalidParameter("from", "must begin a range with delivered events of the webhook's log")
        }
        for row in rows.prefix(Self.maximum) {
            var replay = DeliveryRow(row.event, to: row.webhook, of: row.conversation, seq: row.seq, body: row.body)
            replay.original = row.number
            try transaction.store.insertDelivery(replay)
            transaction.pendingDeliveries += 1
        }
        try transaction.audit(.replayDeliveries, by: context.caller, detail: "\(webhook) \(from)...\(through)")
        return Answer(
            count: min(rows.count, Self.maximum), next: rows.count > Self.maximum ? rows[Self.maximum].number : nil)
    }
}
