import Crypto
import Foundation
package import ScrollbackModel

/// A request to append a message, after all checks that don't need the store.
package struct AppendRequest: Sendable {
    package var conversation: ConversationID
    package var sender: UserID
    package var senderIsAdmin: Bool
    package var submission: Submission
    package var origin: Origin?
    /// The digest of the submission as the client sent it.
    package let digest: Int64
    /// The result of the moderation filters; with changed content, `submission` contains that content.
    let filterResult: FilterResult
    /// The content that the client sent.
    let sent: RawJSON
    /// The content that a filter put in place of `sent`; `nil` if no filter changed it.
    let replacement: RawJSON?

    /// Creates a request to append a message.
    ///
    /// - Parameters:
    ///   - conversation: The absolute name of the conversation.
    ///   - filterResult: The result of the moderation filters; replaced content and attributes are applied to the
    ///     submission.
    package init(
        conversation: ConversationID, sender: Caller, submission: Submission, origin: Origin? = nil,
        filterResult: FilterResult = .allowed
    ) {
        self.conversation = conversation
        self.sender = sender.user
        senderIsAdmin = sender.isAdmin
        self.submission = submission
        self.origin = origin
        digest = submission.digest
        self.filterResult = filterResult
        sent = submission.content.json
        replacement = filterResult.replacement.flatMap { [sent] in $0 == sent ? nil : $0 }
        if let content = replacement {
            self.submission.content = MessageContent(known: submission.content.type, json: content)
        }
        if let attributes = filterResult.attributes { self.submission.attributes = attributes }
    }

    /// The rows that ``Transaction/append(_:permissions:mentionLimiter:)`` will read.
    var footprint: Footprint {
        let attributes = submission.attributes
        var footprint = Footprint(
            conversation, sender, messages: [submission.id] + (attributes.replyTo.map { [$0] } ?? []))
        // A channel's members are those of its community, so the spans show when the sender joined. A reply needs them
        // in every kind of conversation, because its message can be older than the sender's membership.
        footprint.needsSpans = conversation.kind == .community || attributes.replyTo != nil
        footprint.reply = attributes.replyTo.map { .init(to: $0, mentions: attributes.mentions?.users ?? []) }
        if MessageContent.mayHaveFiles(submission.content.type) { footprint.content = submission.content }
        return footprint
    }
}

extension Submission {
    /// A digest of the submission before any filter changed it, which distinguishes a retry from a different message.
    package var digest: Int64 {
        var fields: [String?] = [
            content.type.rawValue, content.json.text, attributes.metadata?.text, attributes.extra?.text,
            attributes.customType, attributes.push?.text, attributes.replyTo?.description,
            String(attributes.flagBits),
        ]
        if let mentions = attributes.mentions {
            fields += [mentions.everyone ? "everyone" : "users", mentions.pushText]
            fields += mentions.users.map(\.text)
        }
        return Self.digest(of: fields)
    }

    /// Returns a digest of a list of fields, in which an absent field differs from an empty one.
    static func digest(of fields: [String?]) -> Int64 {
        var hash = SHA256()
        for field in fields {
            var length = UInt64(field?.utf8.count ?? 0) + (field == nil ? 0 : 1)
            withUnsafeBytes(of: &length) { hash.update(bufferPointer: $0) }
            if var field { field.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) } }
        }
        return hash.finalize().withUnsafeBytes { Int64(littleEndian: $0.loadUnaligned(as: Int64.self)) }
    }
}

extension MessageContent {
    /// Checks that the content is not a notice about an event, which only the server and administrators may send.
    ///
    /// - Throws: `invalid-parameter`.
    func checkIsNotEvent(byAdmin isAdmin: Bool) throws(ChatError) {
        guard isAdmin || notice == nil else {
            throw .invalidParameter(
                "content", "of type notice can't have an event, because only the server sends events")
        }
    }
}

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
        try submission.content.checkIsNotEvent(byAdmin: append.senderIsAdmin)
        let files = try checkedFiles(of: append, permissions: permissions)
        let growth = try submission.traits.isStored && known == nil ? growth(of: append) : nil
        var row = try conversationForSending(append, growth, permissions: permissions, mentionLimiter)
        if known != nil {
            throw ChatError(
                .conflict, "The message ID \(submission.id) is already used for another message.", parameter: "id")
        }
        try append.filterResult.check()
        guard submission.traits.isStored else { return deliver(append) }

        if let growth { try recordGrowth(growth, by: Caller(user: append.sender, isAdmin: append.senderIsAdmin)) }
        let time = timetoken(after: row.timetoken)
        let message = try insert(submission, of: append, at: time, in: &row, permissions: permissions)
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
        try recordReply(message, in: &row)
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

    private func checkedFiles(of append: AppendRequest, permissions: Permissions) throws -> [MediaID] {
        let content = append.submission.content
        guard MessageContent.mayHaveFiles(content.type) else { return [] }
        let sender = Caller(user: append.sender, isAdmin: append.senderIsAdmin)
        // The permission to send is checked before files are looked up, so that its error takes precedence.
        _ = try checkSending(to: append.conversation, by: sender, permissions: permissions)
        let files = try checkedFiles(of: content, by: sender, limits: mediaLimits, permissions: permissions)
        guard files.isEmpty || append.submission.traits.isStored else {
            throw ChatError.invalidParameter(
                "flags.storeInHistory", "must be true for a message with files, because access to files needs it")
        }
        return files
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
                || permissions[.read, row.id.kind].isMet(by: role, isAdmin: append.senderIsAdmin)
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
        _ submission: Submission, of append: AppendRequest, at time: Timetoken, in row: inout ConversationRow,
        permissions: Permissions, storesMentions: Bool = true
    ) throws -> MessageRow {
        row.head += 1
        if submission.traits.countsUnread { row.countedIndex += 1 }
        row.timetoken = time
        if submission.traits.bits & MessageTraits.skipsRecentsBit == 0 {
            row.recentSeq = row.head
            row.recentTime = time
        }
        if row.head == row.firstSeq { row.floorTime = time }
        let seesAll = permissions[.read, row.id.kind].isMet(by: nil, isAdmin: append.senderIsAdmin)
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

    /// Excludes a message from its sender's unread count.
    ///
    /// If the sender has no unread messages or mentions before this message, the read position advances to it.
    /// Otherwise the message's counted index is excluded from the sender's count.
    func excludeOwnFromUnread(_ message: MessageRow, by sender: UserID, in row: ConversationRow, countBefore: Int64)
        throws
    {
        guard row.id.kind.traits.hasRecents, try role(of: sender, in: row) != nil else {
            return try recordParticipant(in: row.number, as: sender)
        }
        let known = try self.member(sender, of: row.number)
        // A sender without a row is a member of a public channel through its community, and gets a read position here.
        var member = known ?? MemberRow(conversation: row.number, user: sender, standing: .reader)
        var joined = (seq: member.joinSeq, countedIndex: member.joinCountedIndex)
        // In a public channel that was private before, the row's join position is from that time, not from when the
        // user joined the community.
        if known == nil || row.isPublicChannel && member.standing != .reader {
            joined = try joinPosition(sender, in: row, head: message.seq - 1, countedIndex: countBefore)
        }
        if known == nil { (member.joinSeq, member.joinCountedIndex) = joined }
        let base = UnreadBase(of: row, member, joined: joined)
        if base.countedIndex == countBefore,
            try store.mentions(of: sender, in: row.number, above: base.position).isEmpty
        {
            member.readSeq = message.seq
            member.readCountedIndex = message.countedIndex
            return put(member)
        }
        if message.countedIndex > countBefore {
            try store.insert(message.countedIndex...message.countedIndex, into: .uncounted(sender), of: row.number)
        }
        if known == nil { try recordParticipant(in: row.number, as: sender) }
    }

    /// Returns the sequence number and counted index at which a member of a public channel joined its community.
    private func joinPosition(
        _ user: UserID, in row: ConversationRow, head: Seq, countedIndex: Int64
    ) throws -> (seq: Seq, countedIndex: Int64) {
        guard row.id.kind == .community, let community = try conversation(.community(row.id.target)),
            case let spans = try store.spans(of: user, in: community.number),
            let joined = (spans.first { $0.left == nil } ?? spans.last)?.joined
        else { return (head, countedIndex) }
        let seq = try store.position(atOrBefore: Timetoken(span: joined), in: row)
        if seq >= head { return (head, countedIndex) }
        return (seq, try store.position(atOrBelow: seq, in: row.number)?.countedIndex ?? row.floorCountedIndex)
    }

    /// Returns the conversation of a message after all checks, and creates it if the message is its first.
    ///
    /// - Parameter growth: What the message adds to the store; `nil` for a message that is not stored.
    private func conversationForSending(
        _ append: AppendRequest, _ growth: Growth?, permissions: Permissions, _ mentionLimiter: MentionLimiter?
    ) throws -> ConversationRow {
        let sender = Caller(user: append.sender, isAdmin: append.senderIsAdmin)
        let known = try checkSending(to: append.conversation, by: sender, permissions: permissions)
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

    /// Returns a sender's role; a missing participant of a direct conversation becomes a member by sending.
    private func senderRole(_ user: UserID, in row: ConversationRow) throws -> Role? {
        let isMissing = row.flags.contains(.missingParticipant) && row.id.namedUsers.contains(user)
        return try role(of: user, in: row) ?? (isMissing ? .member : nil)
    }

    private func checkMaySendHighPriority(_ sender: Caller, in row: ConversationRow, permissions: Permissions) throws {
        let role = try senderRole(sender.user, in: row)
        guard permissions[.sendHigh, row.id.kind].isMet(by: role, isAdmin: sender.isAdmin) else {
            throw ChatError(
                .forbidden, "You need permission to send high-priority messages in \(row.id).",
                parameter: "priority")
        }
    }

    /// Checks that a user may send to a conversation now.
    ///
    /// - Returns: The conversation, or `nil` if the first message will create it.
    /// - Throws: `unknown-conversation`, `forbidden`, `not-member`, `banned`, `muted` or `blocked`.
    func checkSending(
        to id: ConversationID, by sender: Caller, permissions: Permissions
    ) throws -> ConversationRow? {
        if let row = try conversation(id), !row.isDeleted {
            let role = try senderRole(sender.user, in: row)
            guard permissions[.send, id.kind].isMet(by: role, isAdmin: sender.isAdmin) else {
                try checkIsNotBanned(sender.user, from: row)
                // Former members can see the conversation and get a specific error. To others it must look as if it did
                // not exist.
                if role != nil {
                    throw ChatError(.forbidden, "You need permission to send messages in \(id).")
                }
                throw try isOrWasMember(sender.user, in: row)
                    ? ChatError(.notMember, "You are no longer a member of \(id).") : Access.unknown(id)
            }
            try checkMayWrite(sender, in: row, role: role)
            return row
        }
        let isNamed = id.namedUsers.contains(sender.user)
        guard id.kind.traits.isImplicit, isNamed || sender.isAdmin,
            permissions[.create, id.kind].isMet(by: nil, isAdmin: sender.isAdmin),
            permissions[.send, id.kind].isMet(by: isNamed ? .member : nil, isAdmin: sender.isAdmin)
        else { throw Access.unknown(id) }
        try store.checkMayStart(id, by: sender)
        return nil
    }
}
