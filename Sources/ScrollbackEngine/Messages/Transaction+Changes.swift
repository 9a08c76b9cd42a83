package import ScrollbackModel

/// A request to change messages of a conversation.
package struct ChangeRequest: Sendable {
    /// The absolute name of the conversation.
    package var conversation: ConversationID
    package var caller: Caller
    /// An idempotency ID.
    ///
    /// A request with the same ID gets the first answer and changes nothing.
    package var operation: MessageID?

    package init(conversation: ConversationID, caller: Caller, operation: MessageID? = nil) {
        self.conversation = conversation
        self.caller = caller
        self.operation = operation
    }

    /// Creates a request to change the log of a conversation, whose name may be relative to the caller.
    init(toLog id: ConversationID, by caller: Caller, operation: MessageID? = nil) {
        self.init(conversation: id.logID.absolute(for: caller.user), caller: caller, operation: operation)
    }

    /// Returns the footprint of a change.
    ///
    /// - Parameters:
    ///   - messages: The changed messages; empty if there can be many, which would be too much at once.
    ///   - changesActions: Whether an action of the caller is added or removed.
    func footprints(_ messages: [MessageID] = [], changesActions: Bool = false) -> [Footprint] {
        var footprint = Footprint(conversation, caller.user, messages: messages, needsAccess: true)
        footprint.operation = operation
        footprint.changesActions = changesActions
        return [footprint]
    }

    /// Returns a digest that distinguishes different requests with the same operation ID.
    func digest(_ what: String...) -> Int64 {
        Submission.digest(of: [caller.user.text] + what)
    }
}

extension Transaction {
    /// The conversation that a change applies to, including uncommitted changes, and the caller's access to it.
    struct Subject {
        var row: ConversationRow
        var access: Access
    }

    /// Returns the conversation that a change applies to.
    ///
    /// - Throws: `unknown-conversation`, or `not-member` if the caller can read the conversation but is not a member.
    func subject(of request: ChangeRequest, permissions: Permissions, needsMember: Bool = true) throws -> Subject {
        // The access reads the rows of this batch from the store.
        try flush()
        let access = try Access(
            to: request.conversation, for: request.caller, in: store, permissions: permissions, generation: generation,
            now: now.date)
        let isOpen = permissions[.read, access.conversation.id.kind].isMet(by: nil, isAdmin: request.caller.isAdmin)
        if needsMember, access.role == nil, !isOpen {
            throw ChatError(.notMember, "You are not a member of \(request.conversation).")
        }
        // The transaction's copy of the row, so that later changes continue from it.
        return Subject(row: try conversation(request.conversation) ?? access.conversation, access: access)
    }

    /// Returns a message that the caller can see, as they see it.
    ///
    /// - Throws: `unknown-message`.
    func message(_ id: MessageID, of subject: Subject) throws -> MessageRow {
        guard let message = try store.message(id, in: subject.row.number),
            subject.access.visible.contains(message.seq)
        else {
            throw ChatError(.unknownMessage, "Message \(id) does not exist, or you may not see it.", parameter: "id")
        }
        return try subject.access.shown(message, in: store)
    }

    /// Returns a changed message as the answer to a request.
    func answer(_ message: MessageRow, to request: ChangeRequest) throws -> Message {
        let epoch = try conversation(request.conversation)?.epoch(in: generation)
        return message.message(
            in: request.conversation.relative(to: request.caller.user), epoch: epoch ?? Epoch(rawValue: 0))
    }

    /// Returns the earlier change with the request's operation ID.
    ///
    /// - Throws: `conflict` if the ID was used for a different request.
    func previousChange(_ request: ChangeRequest, _ digest: Int64, in row: ConversationRow) throws -> ChangeRow? {
        guard let operation = request.operation, let known = try store.change(operation, in: row.number) else {
            return nil
        }
        guard known.digest == digest else { throw ChatError.usedOperation(operation) }
        return known
    }

    /// Adds an entry to the change log and returns its revision; the caller stores the changed rows.
    func recordChange(
        _ kind: ChangeRow.Kind, _ places: SeqRange, in row: inout ConversationRow, operation: MessageID? = nil,
        digest: Int64 = 0, answer: Int64 = 0
    ) throws -> Int64 {
        row.rev += 1
        try store.insert(
            ChangeRow(
                rev: row.rev, kind: kind, places: places, at: now, operation: operation, digest: digest,
                answer: answer),
            in: row.number)
        return row.rev
    }

    /// Stores a changed message, and publishes the change to subscribers of the conversation.
    func change(
        _ message: inout MessageRow, in row: inout ConversationRow, operation: MessageID? = nil, digest: Int64 = 0,
        answer: Int64 = 0
    ) throws {
        message.rev = try recordChange(
            .message, message.seq...message.seq, in: &row, operation: operation, digest: digest, answer: answer)
        try store.update(message, in: row.number)
        row = try put(row)
        let epoch = row.epoch(in: generation)
        publish(
            .changed(
                row.id, .message(message.message(in: row.id, epoch: epoch)),
                HeadAnnouncement(row, generation: generation),
                notifiesCommunity: notifiesCommunity(row)))
    }

    /// Replaces the stored mentions of a message.
    func replaceMentions(_ old: Mentions?, with new: Mentions?, of message: MessageRow, in number: Int64) throws {
        func users(_ mentions: Mentions?) -> Set<UserID?> {
            var users = Set((mentions?.users ?? []).filter { $0 != message.sender }.map { UserID?.some($0) })
            if mentions?.everyone == true { users.insert(nil) }
            return users
        }
        let (before, after) = (users(old), users(new))
        for user in before.subtracting(after) { try store.dropMention(of: user, at: message.seq, in: number) }
        for user in after.subtracting(before) {
            try store.insertMention(of: user, by: message.sender, at: message.seq, in: number)
        }
    }
}

extension Access {
    /// Checks that the reader may edit a message, as its sender or by their role.
    ///
    /// - Parameter caller: The reader, with the rights of their token.
    /// - Throws: `forbidden`.
    func checkMayEdit(_ message: MessageRow, by caller: Caller, permissions: Permissions) throws(ChatError) {
        let act = message.sender == caller.user ? "edit this message" : "edit messages of other users"
        try check(.editOwn, orForOthers: .editOthers, message, by: caller, permissions, to: act)
    }

    /// Checks that the reader may delete a message, as its sender or by their role.
    ///
    /// - Parameter caller: The reader, with the rights of their token.
    /// - Throws: `forbidden`.
    func checkMayDelete(_ message: MessageRow, by caller: Caller, permissions: Permissions) throws(ChatError) {
        try check(
            .recall, orForOthers: .deleteOthers, message, by: caller, permissions, to: "delete message \(message.id)")
    }

    /// Checks a permission for the reader's own messages, or another one for those of others.
    ///
    /// Notices about a user's actions don't count as the user's own messages.
    ///
    /// - Parameter what: A verb phrase for the error message, such as "edit this message".
    private func check(
        _ own: Permission, orForOthers others: Permission, _ message: MessageRow, by caller: Caller,
        _ permissions: Permissions, to what: String
    ) throws(ChatError) {
        let action = message.sender == caller.user && !message.isNotice ? own : others
        try permissions.require(action, in: conversation.id, as: role, by: caller, to: what)
    }
}

extension ChatError {
    /// The error of a request with the operation ID of a different request.
    static func usedOperation(_ operation: MessageID) -> ChatError {
        ChatError(
            .conflict, "The operation ID \(operation) is already used for another request.", parameter: "operation")
    }
}
