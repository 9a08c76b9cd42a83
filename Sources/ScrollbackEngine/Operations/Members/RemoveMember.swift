import ScrollbackModel
package import ScrollbackWire

extension RemoveMember: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> EmptyAnswer {
        let id = conversation.absolute(for: context.caller.user)
        let request = ChangeRequest(conversation: id, caller: context.caller, operation: operation)
        let digest = request.digest("removal", user.text)
        if try transaction.previousMemberChange(request, digest) != nil { return EmptyAnswer() }
        try transaction.removeMember(user, from: id, by: context.caller, permissions: context.permissions)
        try transaction.rememberMemberChange(request, digest, answer: 0)
        return EmptyAnswer()
    }
}

extension Transaction {
    /// Removes a member, or lets the caller leave.
    fileprivate func removeMember(
        _ user: UserID, from id: ConversationID, by caller: Caller, permissions: Permissions
    ) throws {
        let row = try conversationWithMembers(id, seenBy: caller, permissions: permissions)
        guard let known = try member(user, of: row.number), known.standing == .member else {
            throw ChatError(.unknownMember, "\(user) is not a member of \(id).", parameter: "user")
        }
        let callerRole = try role(of: caller.user, in: row)
        // A role in the community also applies in its private channels.
        let targetRole = try role(of: user, in: row) ?? known.role
        let isLeaving = user == caller.user
        try permissions.require(
            isLeaving ? .leave : .removeMember, in: id, as: callerRole, by: caller,
            to: isLeaving ? "leave" : "remove members")
        guard
            isLeaving
                || Permissions.allows(.removeMember, onUserWith: targetRole, as: callerRole, isAdmin: caller.isAdmin)
        else {
            throw ChatError(.forbidden, "In \(id), you can remove only members whose role is not above yours.")
        }
        if id.isCommunityRoot { try removeFromChannels(user, of: id, by: caller.user) }
        try endMembership(user, of: id, by: caller.user)
        if !isLeaving { try audit(.removeMember, by: caller, of: user, in: row) }
    }
}
