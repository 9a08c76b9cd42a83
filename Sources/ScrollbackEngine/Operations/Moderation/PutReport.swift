package import ScrollbackModel
package import ScrollbackWire

/// Closes a report, or opens it again.
package struct PutReport: ChatOperation {
    package static let endpoint = Endpoint(
        http: .put("/v1/reports/{number}"), scope: .admin, callers: .administrator, cost: .write,
        tag: .server,
        summary: "Close a report or open it again", errors: [404])

    package typealias Answer = Report

    package var number: Int64
    package var isOpen: Bool
    /// `nil` keeps the note, `.some(nil)` removes it.
    package var note: String??

    package init(number: Int64, isOpen: Bool, note: String?? = nil) {
        self.number = number
        self.isOpen = isOpen
        self.note = note
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        number = try request.number("number")
        let state: ReportState = try request.required("state", "The new state.")
        isOpen = state == .open
        note = try request.nullable(
            "note", bytes: 0...Report.textBytes, "A note for other administrators, in UTF-8. `null` removes it.")
    }
}

extension PutReport: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> Report {
        guard var row = try transaction.store.report(number) else { throw ChatError.unknownReport(number) }
        row.isOpen = isOpen
        row.closedBy = isOpen ? nil : context.caller.user
        row.closedAt = isOpen ? nil : context.arrival
        row.note = note ?? row.note
        try transaction.store.put(&row)
        try transaction.audit(
            .updateReport, by: context.caller, detail: "report \(number) \(isOpen ? "open" : "closed")")
        return try Report(row, in: transaction.store)
    }
}
