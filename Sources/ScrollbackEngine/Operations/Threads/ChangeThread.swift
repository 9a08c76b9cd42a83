import ScrollbackModel
package import ScrollbackWire

extension ChangeThread: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> Answer {
        try transaction.change(
            thread, in: conversation.logID.absolute(for: context.caller.user), change, by: context.caller,
            permissions: context.permissions)
    }
}

extension Transaction {
    /// Changes the caller's own state in a thread, and publishes an event if anything changed.
    fileprivate func change(
        _ thread: MessageID, in id: ConversationID, _ change: ThreadChange, by caller: Caller, permissions: Permissions
    ) throws -> ThreadState {
        // The access reads the rows of this batch from the store.
        try flush()
        let access = try Access(
            to: id, for: caller, in: store, permissions: permissions, generation: generation, now: now.date)
        let row = access.conversation
        guard row.id.kind.traits.hasRecents else {
            throw ChatError.invalidParameter("conversation", "is a \(row.id.kind.rawValue), which has no read state")
        }
        guard access.role != nil else {
            throw ChatError(.notMember, "Only members of \(id) have their own state in its threads.")
        }
        guard let root = try store.message(thread, in: row.number), access.visible.contains(root.seq) else {
            throw ChatError(.unknownMessage, "Message \(thread) does not exist, or you may not see it.")
        }
        guard root.replies != nil else {
            throw ChatError(.unknownMessage, "Message \(thread) is not the first message of a thread.")
        }
        let known = try store.threadState(of: caller.user, in: thread, of: row.number)
        var state = known ?? ThreadStateRow(thread: thread)
        if let isFollowed = change.isFollowed { state.following = isFollowed ? .followed : .unfollowed }
        if let position = change.read {
            try checkPosition(position, access)
            if position.seq > state.readSeq {
                state.readSeq = position.seq
                state.readCountedIndex = try max(
                    state.readCountedIndex, store.countedIndex(at: position.seq, in: row))
            }
        }
        guard state != known else { return try ThreadCounts(for: access, in: store).state(of: thread) }
        state.userRev = try advanceRev(of: caller.user, by: caller.user)
        try put(state, of: caller.user, in: row)
        let changed = try ThreadCounts(for: access, in: store).state(of: thread)
        publish(.thread(row.id, caller.user, changed))
        return changed
    }
}
