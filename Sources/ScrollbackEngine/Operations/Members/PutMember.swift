import ScrollbackModel
package import ScrollbackWire

extension PutMember: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> Answer {
        let (caller, permissions) = (context.caller, context.permissions)
        let id = conversation.absolute(for: caller.user)
        let request = ChangeRequest(conversation: id, caller: caller, operation: operation)
        let digest = request.digest(
            "member", user.text, role?.rawValue ?? "", mute.map { "\(String(describing: $0))" } ?? "")
        if let earlier = try transaction.previousMemberChange(request, digest) {
            return Answer(isNew: earlier.answer == 1, user: user)
        }
        let events = transaction.events.count
        var isNew = false
        // The permission is checked once, before any change, because a new role of the caller could change the result.
        if mute != nil {
            try transaction.checkMayMute(user, in: id, by: caller, permissions: permissions, joins: role != nil)
        }
        if role != nil || mute == nil {
            isNew = try transaction.putMember(user, role: role, of: id, by: caller, permissions: permissions)
        }
        if let mute { try transaction.putMute(mute, of: user, in: id, by: caller) }
        // A request that changed nothing can be repeated.
        if transaction.events.count > events {
            try transaction.rememberMemberChange(request, digest, answer: isNew ? 1 : 0)
        }
        return Answer(isNew: isNew, user: user)
    }
}

extension Transaction {
    /// Adds a member, or changes a member's role.
    ///
    /// - Returns: Whether the user was added.
    fileprivate func putMember(
        _ user: UserID, role: Role?, of id: ConversationID, by caller: Caller, permissions: Permissions
    ) throws -> Bool {
        if role ?? .member == .member, try acceptInvitation(user, id, by: caller) {
            try writeNotice(Notice(.memberJoined, user: user), in: id, by: user)
            return true
        }
        let row = try conversationWithMembers(id, seenBy: caller, permissions: permissions)
        let callerRole = try self.role(of: caller.user, in: row)
        if let known = try member(user, of: row.number), known.standing == .member {
            // Others may not learn who is a member.
            guard callerRole != nil || caller.isAdmin else {
                throw permissions.refusal(of: .addMember, in: id, to: "add members")
            }
            guard let role, role != known.role else { return false }
            try permissions.require(.changeRole, in: id, as: callerRole, by: caller, to: "change roles")
            let growth = Growth(messageBytes: Self.rowBytes)
            try checkGrowth(growth, by: caller, adding: .protection)
            try recordGrowth(growth, by: caller)
            var changed = known
            changed.role = role
            put(changed)
            try put(row)
            publish(.joined(id, user, role, fullyVisibleAfter: try store.fullyVisibleAfter(known, in: row)))
            try writeNotice(Notice(.roleChanged, user: user, role: role), in: id, by: caller.user)
            try audit(.changeRole, by: caller, of: user, in: row, detail: role.rawValue)
            return false
        }
        try permissions.require(.addMember, in: id, as: callerRole, by: caller, to: "add members")
        if let role, role > .member {
            try permissions.require(.changeRole, in: id, as: callerRole, by: caller, to: "assign roles")
        }
        if row.isPrivate, let community = try conversation(.community(id.target)) {
            try checkIsMember(user, of: community)
        }
        try checkIsNotBanned(user, from: row, now: now.date, shownTo: caller.user)
        try checkMayAdd(user, to: row, by: caller)
        // Users may join themselves however many users they have added.
        let growth = Growth(members: user == caller.user ? 0 : 1, messageBytes: Self.rowBytes)
        try checkGrowth(growth, by: caller)
        try recordGrowth(growth, by: caller)
        try addMember(user, as: role ?? .member, to: row, sinceBeginning: false, by: caller.user)
        try writeNotice(Notice(user == caller.user ? .memberJoined : .memberAdded, user: user), in: id, by: caller.user)
        return true
    }
}
