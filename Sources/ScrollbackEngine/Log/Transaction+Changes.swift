package import ScrollbackModel

/// Who asks for a change to what was said, of which conversation, and under which id if it may come again.
package struct ChangeRequest: Sendable {
    /// Its absolute name.
    package var conversation: ConversationID
    package var caller: Caller
    /// Given by whoever asks: the same id again gets the first answer, and nothing is done twice.
    package var operation: MessageID?

    package init(conversation: ConversationID, caller: Caller, operation: MessageID? = nil) {
        self.conversation = conversation
        self.caller = caller
        self.operation = operation
    }

    /// Tells what was asked for under one id from anything else under it.
    func digest(_ what: String...) -> Int64 {
        Submission.digest(of: [caller.user.text] + what)
    }
}

extension Transaction {
    /// A conversation that a change is about, as the changes so far left it, and what the caller may see of it.
    struct Subject {
        var row: ConversationRow
        var access: Access
    }

    /// - Throws: `unknown-conversation`, or `not-member` for who may read but is no member.
    func subject(of request: ChangeRequest, permissions: Permissions, needsMember: Bool = true) throws -> Subject {
        // The rows of this batch must be where the access reads them.
        try flush()
        let access = try Access(
            to: request.conversation, for: request.caller, in: store, permissions: permissions, generation: generation,
            now: now.date)
        let isOpen = permissions[.read, access.conversation.id.kind].isMet(by: nil, isAdmin: request.caller.isAdmin)
        if needsMember, access.role == nil, !isOpen {
            throw ChatError(.notMember, "you are not a member of \(request.conversation)")
        }
        // As the batch knows it, so that whatever comes after goes on from there.
        return Subject(row: try conversation(request.conversation) ?? access.conversation, access: access)
    }

    /// The message of an id, if the caller may see it.
    func message(_ id: MessageID, of subject: Subject) throws -> MessageRow {
        guard let message = try store.message(id, in: subject.row.number),
            subject.access.visible.contains(message.seq)
        else { throw ChatError(.unknownMessage, "there is no message \(id) here that you may see", parameter: "id") }
        return message
    }

    /// What was done already under the request's id.
    ///
    /// - Throws: `conflict` where something else was asked for under it.
    func earlier(_ request: ChangeRequest, _ digest: Int64, in row: ConversationRow) throws -> ChangeRow? {
        guard let operation = request.operation, let known = try store.change(operation, in: row.number) else {
            return nil
        }
        guard known.digest == digest else {
            throw ChatError(
                .conflict, "the operation id \(operation) was used for something else", parameter: "operation")
        }
        return known
    }

    /// Writes a change into the log of changes and gives it its number; the rows it touched are the caller's to write.
    func log(
        _ kind: ChangeRow.Kind, _ places: SeqRange, in row: inout ConversationRow, operation: MessageID? = nil,
        digest: Int64 = 0, answer: Int64 = 0
    ) throws -> Int64 {
        row.rev += 1
        try store.insert(
            ChangeRow(
                rev: row.rev, kind: kind, places: places, at: now, operation: operation, digest: digest, answer: answer),
            in: row.number)
        return row.rev
    }

    /// Stores what a change made of a message, and tells whoever hears the conversation.
    func change(
        _ message: inout MessageRow, in row: inout ConversationRow, operation: MessageID? = nil, digest: Int64 = 0,
        answer: Int64 = 0
    ) throws {
        message.rev = try log(
            .message, message.seq...message.seq, in: &row, operation: operation, digest: digest, answer: answer)
        try store.update(message, in: row.number)
        row = try put(row)
        let epoch = row.epoch(in: generation)
        publish(
            .changed(
                row.id, .message(message.message(in: row.id, epoch: epoch)), LogMark(row, generation: generation),
                isListed: isListed(row)))
    }

    /// Whether the caller may do something to a message: to their own as its sender, to another's by their role; what the
    /// server wrote of what they did is another's.
    func require(
        _ own: Action, orToOthers others: Action, _ message: MessageRow, of subject: Subject, _ request: ChangeRequest,
        permissions: Permissions, to what: String
    ) throws {
        let action = message.sender == request.caller.user && !message.isNotice ? own : others
        let kind = subject.row.id.kind
        guard permissions[action, kind].isMet(by: subject.access.role, isAdmin: request.caller.isAdmin) else {
            throw ChatError(.forbidden, "\(what) takes more than you are there")
        }
    }
}
