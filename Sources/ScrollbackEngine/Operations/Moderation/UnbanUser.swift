import ScrollbackModel
package import ScrollbackWire

extension UnbanUser: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> EmptyAnswer {
        let row = try transaction.conversationForBanning(
            conversation.absolute(for: context.caller.user), by: context.caller, permissions: context.permissions)
        guard try transaction.store.ban(of: user, in: row.number) != nil else { return EmptyAnswer() }
        try transaction.store.dropBan(of: user, in: row.number)
        transaction.publish(.moderated(ModerationAct(.unban, of: user, in: row.id, by: context.caller.user)))
        try transaction.audit(.unban, by: context.caller, of: user, in: row)
        return EmptyAnswer()
    }
}
