import ScrollbackModel

// The checks of a message before it is stored.

extension Transaction {
    /// Returns the conversation of a message after all checks, and creates it if the message is its first.
    ///
    /// - Parameter growth: What the message adds to the store; `nil` for a message that is not stored.
    func conversationForSending(
        _ append: AppendRequest, _ growth: Growth?, permissions: Permissions, _ mentionLimiter: MentionLimiter?
    ) throws -> ConversationRow {
        let sender = append.caller
        let known = try checkMaySend(
            to: append.conversation, by: sender, permissions: permissions, now: now.date)
        let attributes = append.submission.attributes
        try checkReferences(
            of: append.submission.content, replyTo: attributes.replyTo, by: sender, in: known, permissions: permissions)
        if let growth { try checkGrowth(growth, by: sender) }
        if let row = known {
            if attributes.mentions?.everyone == true {
                try checkMentionOfEveryone(
                    by: sender, role: try senderRole(sender.user, in: row), in: row.id, permissions: permissions,
                    mentionLimiter)
            }
            if attributes.priority == .high {
                try checkMaySendHighPriority(sender, in: row, permissions: permissions)
            }
            guard row.flags.contains(.missingParticipant) else { return row }
            // A refused message must not add members.
            try append.filterResult.check()
            return try addMissingParticipants(sender.user, to: row)
        }
        // A refused message must not create a conversation.
        try append.filterResult.check()
        return try createNamed(append.conversation, by: sender.user)
    }

    private func checkMaySendHighPriority(_ sender: Caller, in row: ConversationRow, permissions: Permissions) throws {
        let role = try senderRole(sender.user, in: row)
        try permissions.require(
            .sendHigh, in: row.id, as: role, by: sender, to: "send high-priority messages", parameter: "priority")
    }

    /// Checks the files of a message, and returns their IDs.
    ///
    /// - Throws: The errors of ``MembershipReader/checkMaySend(to:by:permissions:now:)``, and those of the files.
    func checkedFiles(of append: AppendRequest, permissions: Permissions) throws -> [MediaID] {
        let content = append.submission.content
        guard MessageContent.mayHaveFiles(content.type) else { return [] }
        // The permission to send is checked before files are looked up, so that its error takes precedence.
        _ = try checkMaySend(to: append.conversation, by: append.caller, permissions: permissions, now: now.date)
        let files = try checkedFiles(of: content, by: append.caller, limits: mediaLimits, permissions: permissions)
        guard files.isEmpty || append.submission.traits.isStored else {
            throw ChatError.invalidParameter(
                "flags.storeInHistory", "must be true for a message with files, because access to files needs it")
        }
        return files
    }
}
