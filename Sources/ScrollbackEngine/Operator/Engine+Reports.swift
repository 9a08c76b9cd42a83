import Foundation
package import ScrollbackModel
package import ScrollbackWire

extension Engine {
    /// Tells the operator of a message, as it is now.
    ///
    /// Who reports it once more changes what they said about it, and has it looked at again; the copy stays the first one.
    ///
    /// - Parameters:
    ///   - text: its length was checked.
    ///   - shutOuts: as for ``send(_:to:by:origin:since:completion:)``.
    package func report(
        _ id: MessageID, in conversation: ConversationID, reason: ReportReason, text: String?, by caller: Caller,
        since shutOuts: Int? = nil, completion: @escaping Completion<(number: Int64, isNew: Bool)>
    ) {
        let request = ChangeRequest(conversation: conversation.log.absolute(for: caller.user), caller: caller)
        let now = clock()
        let shutOuts = shutOuts ?? self.shutOuts
        log.submit(
            { [permissions, erasing] transaction in
                try erasing.check(caller.user, since: shutOuts)
                let subject = try transaction.subject(of: request, permissions: permissions, needsMember: false)
                let message = try transaction.message(id, of: subject)
                let number = subject.row.number
                var row: ReportRow
                var isNew = false
                if let known = try transaction.store.report(of: id, in: number, by: caller.user) {
                    row = known
                    row.reason = reason
                    row.text = text
                    row.at = now
                    row.isOpen = true
                    row.closedBy = nil
                    row.closedAt = nil
                } else {
                    guard !message.isDeleted else {
                        throw ChatError(
                            .conflict, "the message was deleted: nothing is left to report", parameter: "id")
                    }
                    isNew = true
                    row = ReportRow(
                        conversation: number, message: message, reporter: caller.user, reason: reason, text: text,
                        at: now)
                }
                try transaction.store.put(&row)
                transaction.publish(.reported(Report(row, in: subject.row.id)))
                return (row.number, isNew)
            }, completion: completion)
    }

    /// Reports, newest first: at most `limit` below a number.
    package func reports(
        isOpen: Bool?, below number: Int64?, limit: Int, by caller: Caller
    ) throws -> (reports: [Report], next: Int64?) {
        guard caller.isAdmin else { throw Self.notForReports }
        try checkLimit(limit)
        return try store.read { store in
            let rows = try store.reports(isOpen: isOpen, below: number ?? .max, limit: limit + 1)
            let reports = try rows.prefix(limit).map { try Self.report($0, store) }
            return (reports, rows.count > limit ? rows[limit - 1].number : nil)
        }
    }

    package func report(_ number: Int64, by caller: Caller) throws -> Report {
        guard caller.isAdmin else { throw Self.notForReports }
        return try store.read { store in
            guard let row = try store.report(number) else { throw Self.unknownReport(number) }
            return try Self.report(row, store)
        }
    }

    /// Closes a report, or opens it again.
    ///
    /// - Parameter note: `.some(nil)` takes the note away; its length was checked.
    package func putReport(
        _ number: Int64, isOpen: Bool, note: String??, by caller: Caller, completion: @escaping Completion<Report>
    ) {
        guard caller.isAdmin else { return completion(.failure(Self.notForReports)) }
        let now = clock()
        log.submit(
            { transaction in
                guard var row = try transaction.store.report(number) else { throw Self.unknownReport(number) }
                row.isOpen = isOpen
                row.closedBy = isOpen ? nil : caller.user
                row.closedAt = isOpen ? nil : now
                row.note = note ?? row.note
                try transaction.store.put(&row)
                return try Self.report(row, transaction.store)
            }, completion: completion)
    }

    private static let notForReports = ChatError(.forbidden, "reports are for administrators")

    private static func unknownReport(_ number: Int64) -> ChatError {
        ChatError(.unknownReport, "there is no report \(number)", parameter: "number")
    }

    private static func report(_ row: ReportRow, _ store: any StoreReader) throws -> Report {
        guard let conversation = try store.conversation(numbered: row.conversation) else {
            throw ChatError(.internalError, "a report is of a conversation that is not there")
        }
        return Report(row, in: conversation.id)
    }
}

extension Report {
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
