import ScrollbackModel
package import ScrollbackWire

extension ReportMessage: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> Answer {
        let caller = context.caller
        let request = ChangeRequest(conversation: conversation.logID.absolute(for: caller.user), caller: caller)
        let subject = try transaction.subject(of: request, permissions: context.permissions, needsMember: false)
        let message = try transaction.message(id, of: subject)
        let number = subject.row.number
        var row: ReportRow
        var isNew = false
        if let known = try transaction.store.report(of: id, in: number, by: caller.user) {
            row = known
            row.reason = reason
            row.text = text
            row.at = context.arrival
            row.isOpen = true
            row.closedBy = nil
            row.closedAt = nil
        } else {
            guard !message.isDeleted else {
                throw ChatError(.conflict, "The message was deleted, so it can't be reported.", parameter: "id")
            }
            isNew = true
            row = ReportRow(
                conversation: number, message: message, reporter: caller.user, reason: reason, text: text,
                at: context.arrival)
        }
        let growth = Growth(
            messageBytes: (row.content?.text.utf8.count ?? 0) + (text?.utf8.count ?? 0) + Transaction.rowBytes)
        try transaction.checkGrowth(growth, by: caller)
        try transaction.recordGrowth(growth, by: caller)
        try transaction.store.put(&row)
        transaction.publish(.reported(Report(row, in: subject.row.id)))
        return Answer(number: row.number, isNew: isNew)
    }
}
