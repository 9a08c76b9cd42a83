import ScrollbackModel
package import ScrollbackWire

extension DeleteConversation: WriteOperation {
    /// Deletes a conversation and its contents; deleting a community deletes its channels too.
    ///
    /// A conversation that is created again under the same name has a new epoch.
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> EmptyAnswer {
        let caller = context.caller
        let id = conversation.absolute(for: caller.user)
        let row = try transaction.conversation(id, seenBy: caller, permissions: context.permissions)
        let role = try transaction.role(of: caller.user, in: row)
        try context.permissions.require(.delete, in: id, as: role, by: caller, to: "delete the conversation")
        if id.isCommunityRoot {
            var after: Identifier?
            while case let channels = try transaction.store.channels(of: id.target, after: after, limit: 100),
                let last = channels.last
            {
                for channel in channels where !channel.isDeleted { try transaction.erase(channel) }
                after = last.id.part
            }
        }
        try transaction.erase(row)
        try transaction.audit(.deleteConversation, by: caller, in: row)
        return EmptyAnswer()
    }
}
