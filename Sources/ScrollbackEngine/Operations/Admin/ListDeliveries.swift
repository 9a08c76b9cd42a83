package import ScrollbackModel
package import ScrollbackWire

/// Lists the deliveries of events to a webhook.
package struct ListDeliveries: ChatOperation {
    package static let endpoint = Endpoint(
        http: .get("/v1/webhooks/{webhook}/deliveries"), scope: .admin, callers: .administrator,
        cost: .read, tag: .server,
        summary: "List the deliveries to a webhook",
        details: "Newest first. The server keeps delivered events as long as the setting `webhooks.logHours` says.")

    package struct Answer: OperationAnswer {
        package static let schema: JSONSchema? = .object([
            .init("deliveries", .array(DeliveryEntry.schema)),
            .init("cursor", .string(), isRequired: false, "Pass it to get the next page. Absent on the last page."),
        ])

        package var deliveries: [DeliveryEntry]
        /// The next page has the deliveries below this number.
        package var next: Int64?

        package func writeMembers(to writer: inout JSONWriter) {
            writer.key("deliveries")
            writer.array(deliveries) { $1.write(to: &$0) }
            writer.field("cursor", next.map { String($0) })
        }
    }

    package var webhook: String
    package var state: DeliveryState?
    package var page: Paging

    package init(webhook: String, state: DeliveryState? = nil, page: Paging) {
        self.webhook = webhook
        self.state = state
        self.page = page
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        webhook = try request.required("webhook", "The webhook's name. That of `webhooks.after` is `after`.")
        page = try Paging(from: &request)
        state = try request.optional("state", "Only pending or only delivered events.")
    }
}

extension ListDeliveries: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        try engine.checkLimit(page.limit)
        try engine.checkWebhook(webhook)
        let below = try page.number() ?? .max
        return try engine.store.read { store in
            let rows = try store.deliveryLog(
                to: webhook, below: below, isPending: state.map { $0 == .pending }, limit: page.limit + 1)
            return Answer(
                deliveries: try rows.prefix(page.limit).map { row in
                    DeliveryEntry(
                        row: row, conversation: try store.conversation(numbered: row.conversation)?.id,
                        id: engine.name(of: row.number), original: row.original.map { engine.name(of: $0) })
                },
                next: rows.count > page.limit ? rows[page.limit - 1].number : nil)
        }
    }
}

/// Whether a delivery is pending, as requests name it.
package enum DeliveryState: String, ChoiceParameterValue {
    case pending, delivered
}

/// A delivery in the log.
package struct DeliveryEntry: Sendable {
    static let schema = JSONSchema.object([
        .init("number", .integer(1...Int.max), "Numbers increase with time."),
        .init("delivery", .string(), "The ID that the webhook receives."),
        .init("replayOf", .string(), isRequired: false, "The ID of the delivery that this one repeats."),
        .init("event", .string(), isRequired: false, "The kind of the event."),
        .init("conversation", .component("ConversationID"), isRequired: false),
        .init("seq", .integer(1...Int.max), isRequired: false, "The message of the event."),
        .init("state", DeliveryState.schema),
        .init("attempts", .integer(0...Int.max)),
        .init("attemptedAt", .component("Time"), isRequired: false, "When the last attempt ended."),
        .init("error", .string(), isRequired: false, "Why the last failed attempt failed."),
    ])

    var row: DeliveryRow
    var conversation: ConversationID?
    var id: String
    var original: String?

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("number", row.number)
            writer.field("delivery", id)
            writer.field("replayOf", original)
            writer.field("event", row.event)
            writer.field("conversation", conversation)
            writer.field("seq", row.seq)
            writer.field("state", (row.isDelivered ? DeliveryState.delivered : .pending).rawValue)
            writer.field("attempts", row.attempts)
            writer.field("attemptedAt", row.attemptedAt)
            writer.field("error", row.error)
        }
    }
}
