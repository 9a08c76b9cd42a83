package import ScrollbackModel
package import ScrollbackWire

/// Lists reported messages.
package struct ListReports: ChatOperation {
    package static let endpoint = Endpoint(
        http: .get("/v1/reports"), scope: .admin, callers: .administrator, cost: .read, tag: .server,
        summary: "List reported messages", details: "Newest first.")

    package struct Answer: OperationAnswer {
        package static let schema: JSONSchema? = .object([
            .init("reports", .array(.component("Report"))),
            .init("cursor", .string(), isRequired: false, "Pass it to get the next page. Absent on the last page."),
        ])

        package var reports: [Report]
        /// The next page has the reports below this number.
        package var next: Int64?

        package func writeMembers(to writer: inout JSONWriter) {
            writer.key("reports")
            writer.array(reports) { writer, report in writer.object { report.writeMembers(to: &$0) } }
            writer.field("cursor", next.map { String($0) })
        }
    }

    /// Only open reports, only closed ones, or (`nil`) all.
    package var isOpen: Bool?
    package var page: Paging

    package init(isOpen: Bool? = nil, page: Paging) {
        self.isOpen = isOpen
        self.page = page
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        page = try Paging(from: &request)
        let state: ReportState? = try request.optional("state", "Only open or only closed reports.")
        isOpen = state.map { $0 == .open }
    }
}

extension ListReports: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        try engine.checkLimit(page.limit)
        let below = try page.number()
        return try engine.store.read { store in
            let rows = try store.reports(isOpen: isOpen, below: below ?? .max, limit: page.limit + 1)
            return Answer(
                reports: try rows.prefix(page.limit).map { try Report($0, in: store) },
                next: rows.count > page.limit ? rows[page.limit - 1].number : nil)
        }
    }
}

/// Whether a report is open, as requests name it.
enum ReportState: String, ChoiceParameterValue {
    case open, closed
}

extension Report {
    /// - Throws: `internal-error` when the store has no conversation of the report's number.
    init(_ row: ReportRow, in store: any StoreReader) throws {
        guard let conversation = try store.conversation(numbered: row.conversation) else {
            throw ChatError(.internalError, "The conversation of report \(row.number) is missing from the store.")
        }
        self.init(row, in: conversation.id)
    }

    init(_ row: ReportRow, in conversation: ConversationID) {
        self.init(
            number: row.number, conversation: conversation, message: row.message, seq: row.seq, sender: row.sender,
            type: row.type, content: row.content, sentAt: row.timetoken.date, reporter: row.reporter,
            reason: row.reason, text: row.text, at: row.at, isOpen: row.isOpen)
        note = row.note
        closedBy = row.closedBy
        closedAt = row.closedAt
    }
}
