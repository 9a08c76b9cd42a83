import ScrollbackModel
package import ScrollbackWire

extension EditMessage: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<Answer>) {
        let (engine, caller) = (context.engine, context.caller)
        let request = ChangeRequest(toLog: conversation, by: caller, operation: operation)
        let filterRequest = FilterRequest(
            .edit, in: request.conversation, by: caller.user, id: id, content: edit.content,
            attributes: edit.applied(to: .init()))
        engine.moderate(
            filterRequest, by: caller, origin: context.session.map { Origin($0) },
            refuse: { completion(.failure($0)) }
        ) { filterResult in
            engine.commits.submit(
                for: WorkOwner(caller), about: request.footprints([id]),
                { transaction in
                    try engine.erasing.check(caller.user, since: context.erasureCount)
                    let message = try transaction.edit(
                        id, edit, request, permissions: engine.permissions, filterResult: filterResult,
                        mentionLimiter: engine.mentionLimiter)
                    return Answer(message: try transaction.answer(message, to: request))
                }, completion: completion)
        }
    }
}

extension Transaction {
    /// Replaces the content of a message.
    ///
    /// - Throws: `unknown-message`, `conflict` if the message was deleted, `invalid-parameter` if the type differs,
    ///   `forbidden`.
    fileprivate func edit(
        _ id: MessageID, _ edit: MessageEdit, _ request: ChangeRequest, permissions: Permissions,
        filterResult: FilterResult, mentionLimiter: MentionLimiter?
    ) throws -> MessageRow {
        let subject = try subject(of: request, permissions: permissions)
        var row = subject.row
        let digest = request.digest(
            "edit", id.description, edit.content.type.rawValue, edit.content.json.text, "\(edit.mentions)",
            "\(edit.metadata)", "\(edit.extra)", "\(edit.customType)")
        // A retry returns the current message, if the caller can still see it.
        if try previousChange(request, digest, in: row) != nil { return try message(id, of: subject) }
        var message = try message(id, of: subject)
        try subject.access.checkMayEdit(message, by: request.caller, permissions: permissions)
        try checkMayWrite(request.caller, in: row, role: subject.access.role, now: now.date)
        guard !message.isDeleted else {
            throw ChatError(.conflict, "You can't edit a deleted message.", parameter: "id")
        }
        guard message.type == edit.content.type else {
            throw ChatError.invalidParameter(
                "type", "must be \(message.type), because an edit can't change the type. If it is missing, it is text.")
        }
        try edit.content.checkIsNotEvent(byAdmin: request.caller.isAdmin)
        try checkEdit(edit.content, of: message)
        try filterResult.check()
        let edit = edit.applying(filterResult)
        try checkReferences(
            of: edit.content, replyTo: nil, by: request.caller, in: row, permissions: permissions,
            known: message.quote)
        let mayHaveFiles = MessageContent.mayHaveFiles(message.type)
        let uses = mayHaveFiles ? try store.uses(at: message.seq...message.seq, in: row.number, limit: .max) : []
        let known = Set(uses.map(\.media))
        let files = try checkedFiles(
            of: edit.content, by: request.caller, limits: mediaLimits, permissions: permissions, known: known)
        let old = message.attributes.mentions
        if old?.everyone != true, edit.applied(to: message.attributes).mentions?.everyone == true {
            try checkMentionOfEveryone(
                by: request.caller, role: subject.access.role, in: row.id, permissions: permissions, mentionLimiter)
        }
        let added = edit.applied(to: .init())
        let growth = Growth(
            messageBytes: edit.content.json.text.utf8.count + added.storedBytes + added.mentionBytes + Self.rowBytes)
        try checkGrowth(growth, by: request.caller)
        try recordGrowth(growth, by: request.caller)
        message.content = edit.content.json
        message.attributes = edit.applied(to: message.attributes)
        message.editedAt = now.date
        try replaceMentions(old, with: message.attributes.mentions, of: message, in: row.number)
        if !known.isEmpty || !files.isEmpty { try replaceReferences(with: files, of: message, in: row.number) }
        try change(&message, in: &row, operation: request.operation, digest: digest)
        return message
    }
}

extension MessageEdit {
    /// Returns the edit with the content and mentions that the moderation filters replaced.
    fileprivate func applying(_ filterResult: FilterResult) -> MessageEdit {
        var edit = self
        if let content = filterResult.replacement {
            edit.content = MessageContent(known: self.content.type, json: content)
        }
        if let mentions = filterResult.attributes?.mentions { edit.mentions = .set(mentions) }
        return edit
    }
}
