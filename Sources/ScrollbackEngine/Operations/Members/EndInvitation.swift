import ScrollbackModel
package import ScrollbackWire

extension EndInvitation: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> EmptyAnswer {
        let caller = context.caller
        let id = conversation.absolute(for: caller.user)
        if user == caller.user, let row = try transaction.conversation(id), !row.isDeleted,
            try transaction.openInvitation(of: user, to: row) != nil
        {
            try transaction.endInvitation(of: user, to: row)
            return EmptyAnswer()
        }
        let row = try transaction.conversationWithInvitations(id, by: caller, permissions: context.permissions)
        guard try transaction.openInvitation(of: user, to: row) != nil else {
            throw ChatError(.unknownInvitation, "\(user) has no open invitation to \(id).", parameter: "user")
        }
        try transaction.endInvitation(of: user, to: row)
        return EmptyAnswer()
    }
}
