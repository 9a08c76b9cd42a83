package import ScrollbackModel

extension Transaction {
    /// Appends one message, or throws an error and changes nothing.
    ///
    /// If the message is a retry of a stored one, the result is the stored message's position with the outcome
    /// `.duplicate`.
    ///
    /// - Parameter mentionLimiter: The rate limit for mentions of everyone; `nil` for no limit.
    package func append(
        _ append: AppendRequest, permissions: Permissions, mentionLimiter: MentionLimiter? = nil
    ) throws -> SendResult {
        let submission = append.submission
        let known = try stored(withIDOf: append)
        // A retry is recognized before the permissions are checked. A sender whose first answer was lost needs the
        // result, even if the sender is no longer a member.
        if let (key, epoch) = known, key.sender == append.sender, key.digest == append.digest {
            return SendResult(
                outcome: .duplicate, id: key.id, timetoken: key.timetoken,
                position: .init(seq: key.seq, countedIndex: key.countedIndex, epoch: epoch), thread: key.thread,
                content: try differingContent(from: append, permissions: permissions))
        }
        try submission.content.checkIsNotEvent(byAdmin: append.caller.isAdmin)
        let files = try checkedFiles(of: append, permissions: permissions)
        let growth = try submission.traits.isStored && known == nil ? growth(of: append) : nil
        var row = try conversationForSending(append, growth, permissions: permissions, mentionLimiter)
        if known != nil {
            throw ChatError(
                .conflict, "The message ID \(submission.id) is already used for another message.", parameter: "id")
        }
        try append.filterResult.check()
        guard submission.traits.isStored else { return deliver(append) }

        if let growth { try recordGrowth(growth, by: append.caller) }
        let time = timetoken(after: row.timetoken)
        let message = try insert(append, at: time, in: &row, permissions: permissions)
        try addReferences(to: files, at: message.seq, in: row.number)
        try excludeOwnFromUnread(
            message, by: append.sender, in: row,
            countBefore: message.countedIndex - (submission.traits.countsUnread ? 1 : 0))
        row = try put(row)
        publish(
            .message(
                message.message(in: row.id, epoch: row.epoch(in: generation)),
                notifiesCommunity: notifiesCommunity(row),
                origin: append.origin))
        try recordReply(message, by: append.caller, in: &row)
        return SendResult(
            outcome: .committed, id: message.id, timetoken: time,
            position: .init(seq: message.seq, countedIndex: message.countedIndex, epoch: row.epoch(in: generation)),
            thread: message.thread,
            content: append.replacement)
    }

    /// Returns what a message adds to the store: its bytes, and a member if it creates the conversation.
    private func growth(of append: AppendRequest) throws -> Growth {
        let createsConversation = try conversation(append.conversation).map(\.isDeleted) ?? true
        return Growth(members: createsConversation ? 1 : 0, messageBytes: append.submission.storedBytes)
    }

    /// Returns the stored content of a message that was sent before, or `nil` if it equals what was sent.
    private func differingContent(from append: AppendRequest, permissions: Permissions) throws -> RawJSON? {
        guard let row = try conversation(append.conversation),
            let stored = try store.message(append.submission.id, in: row.number), stored.content != append.sent
        else { return nil }
        // A sender who may no longer read the conversation must not get the text of an edit.
        let role = try role(of: append.sender, in: row)
        guard
            stored.editedAt == nil
                || permissions[.read, row.id.kind].isMet(by: role, isAdmin: append.caller.isAdmin)
        else { return nil }
        return stored.content
    }

    /// Whether all members of the community are notified of new messages in the channel, even without a subscription.
    func notifiesCommunity(_ row: ConversationRow) -> Bool { row.id.kind == .community && !row.isPrivate }

    /// Returns the key of the stored message with the request's message ID.
    ///
    /// Keys outlive the rows of removed messages, so that a late retry does not become a second message.
    private func stored(withIDOf append: AppendRequest) throws -> (key: KeyRow, epoch: Epoch)? {
        guard let row = try conversation(append.conversation), !row.isDeleted,
            let key = try key(append.submission.id, in: row)
        else { return nil }
        return (key, row.epoch(in: generation))
    }

    /// Returns the key of a message, from its row or from the keys of removed messages.
    func key(_ id: MessageID, in row: ConversationRow) throws -> KeyRow? {
        if let message = try store.message(id, in: row.number) { return KeyRow(message) }
        // Keys are stored only for removed messages, so without deletions there are none. Messages below the retention
        // floor may have been removed as part of a deleted range before.
        return row.firstSeq > 1 || row.hasDeletedRanges ? try store.key(id, in: row.number) : nil
    }

    /// Publishes a message that is not stored, such as a command.
    private func deliver(_ append: AppendRequest) -> SendResult {
        let time = timetoken(after: Timetoken(rawValue: 0))
        publish(
            .transient(
                TransientMessage(
                    conversation: append.conversation, id: append.submission.id, timetoken: time,
                    sender: append.sender, content: append.submission.content,
                    attributes: append.submission.attributes), origin: append.origin))
        return SendResult(
            outcome: .delivered, id: append.submission.id, timetoken: time, position: nil,
            content: append.replacement)
    }

    /// Assigns the next sequence number to a message and stores it there.
    ///
    /// - Parameter storesMentions: Whether to store the message's mentions. Imported messages usually create none.
    func insert(
        _ append: AppendRequest, at time: Timetoken, in row: inout ConversationRow, permissions: Permissions,
        storesMentions: Bool = true
    ) throws -> MessageRow {
        let submission = append.submission
        row.head += 1
        if submission.traits.countsUnread { row.countedIndex += 1 }
        row.timetoken = time
        if submission.traits.bits & MessageTraits.skipsRecentsBit == 0 {
            row.recentSeq = row.head
            row.recentTime = time
        }
        if row.head == row.firstSeq { row.floorTime = time }
        let seesAll = permissions[.read, row.id.kind].isMet(by: nil, isAdmin: append.caller.isAdmin)
        let thread = try thread(of: submission, by: append.sender, seesAll: seesAll, in: row)
        let message = MessageRow(
            seq: row.head, countedIndex: row.countedIndex, timetoken: time, id: submission.id, sender: append.sender,
            type: submission.content.type, content: submission.content.json, attributes: submission.attributes,
            digest: append.digest, thread: thread)
        try store.insert(message, in: row.number)
        if storesMentions, let mentions = submission.attributes.mentions {
            if mentions.everyone {
                try store.insertMention(of: nil, by: append.sender, at: row.head, in: row.number)
            }
            for user in Set(mentions.users) where user != append.sender {
                try store.insertMention(of: user, by: append.sender, at: row.head, in: row.number)
            }
        }
        return message
    }
}
