import ScrollbackModel
package import ScrollbackWire

extension PutDraft: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> Answer {
        // Each user names a conversation in one way only, so that a draft has one row.
        let user = context.caller.user
        let name = conversation.logID.absolute(for: user).relative(to: user)
        return Answer(rev: try transaction.putDraft(draft, in: name, by: context.caller))
    }
}
