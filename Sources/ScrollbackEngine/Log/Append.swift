import Crypto
import Foundation
package import ScrollbackModel

/// What is to be appended, after everything that can be checked without the store was checked.
package struct Append: Sendable {
    package var conversation: ConversationID
    package var sender: UserID
    package var senderIsAdmin: Bool
    package var submission: Submission
    package var origin: Origin?
    package let digest: Int64
    /// What came of looking at it; with another content `submission` has that.
    let judgement: Judgement
    /// What was sent.
    let sent: RawJSON
    /// What is stored in its place.
    let replacement: RawJSON?

    /// - Parameter conversation: its absolute name.
    package init(
        conversation: ConversationID, sender: Caller, submission: Submission, origin: Origin? = nil,
        judgement: Judgement = .allowed
    ) {
        self.conversation = conversation
        self.sender = sender.user
        senderIsAdmin = sender.isAdmin
        self.submission = submission
        self.origin = origin
        digest = submission.digest
        self.judgement = judgement
        sent = submission.content.json
        replacement = judgement.replacement.flatMap { [sent] in $0 == sent ? nil : $0 }
        if let content = replacement {
            self.submission.content = MessageContent(known: submission.content.type, json: content)
        }
        if let attributes = judgement.attributes { self.submission.attributes = attributes }
    }
}

extension Submission {
    /// Tells two submissions apart by what was decoded, before any filter changed it.
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

    /// Tells lists of fields apart, an absent one from an empty one too.
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
    /// - Throws: `invalid-parameter` for a notice that says what happened, which is the server's to say.
    func checkIsNoEvent(byAdmin isAdmin: Bool) throws(ChatError) {
        guard isAdmin || notice == nil else {
            throw .invalidParameter(
                "content", "of type notice can't have an event: what happened is the server's to say")
        }
    }
}

extension Transaction {
    /// Appends one message, or says why not.
    package func append(_ append: Append, permissions: Permissions) throws -> SendResult {
        let submission = append.submission
        let known = try stored(withIDOf: append)
        // What was stored is answered first: whoever lost the answer, and their membership since, must still hear it.
        if let (key, epoch) = known, key.sender == append.sender, key.digest == append.digest {
            return SendResult(
                outcome: .duplicate, id: key.id, timetoken: key.timetoken,
                position: .init(seq: key.seq, n: key.n, epoch: epoch), thread: key.thread,
                content: try contentThatDiffers(from: append))
        }
        try submission.content.checkIsNoEvent(byAdmin: append.senderIsAdmin)
        let files = try checkedFiles(of: append, permissions: permissions)
        var row = try conversationForSending(append, permissions: permissions)
        if known != nil {
            throw ChatError(.conflict, "the message id \(submission.id) was used for another message", parameter: "id")
        }
        try append.judgement.check()
        guard submission.traits.isStored else { return deliver(append) }

        let time = timetoken(after: row.timetoken)
        let message = try insert(submission, of: append, at: time, in: &row, permissions: permissions)
        try use(files, at: message.seq, in: row.number)
        try passOwn(
            message, by: append.sender, in: row, countBefore: message.n - (submission.traits.countsUnread ? 1 : 0))
        row = try put(row)
        publish(
            .message(
                message.message(in: row.id, epoch: row.epoch(in: generation)), isListed: isListed(row),
                origin: append.origin))
        try countReply(of: message, by: 1, in: &row)
        return SendResult(
            outcome: .committed, id: message.id, timetoken: time,
            position: .init(seq: message.seq, n: message.n, epoch: row.epoch(in: generation)), thread: message.thread,
            content: append.replacement)
    }

    private func checkedFiles(of append: Append, permissions: Permissions) throws -> [MediaID] {
        let content = append.submission.content
        guard MessageContent.mayHaveFiles(content.type) else { return [] }
        let sender = Caller(user: append.sender, isAdmin: append.senderIsAdmin)
        // Who may not send at all is told so before their files are looked for.
        _ = try checkSending(to: append.conversation, by: sender, permissions: permissions)
        let files = try checkedFiles(of: content, by: sender, limits: mediaLimits, permissions: permissions)
        guard files.isEmpty || append.submission.traits.isStored else {
            throw ChatError.invalidParameter(
                "flags.storeInHistory", "must be true for a message with files: they are read by who can read it")
        }
        return files
    }

    /// What is stored of a message that was sent before, where that is not what was sent.
    private func contentThatDiffers(from append: Append) throws -> RawJSON? {
        guard let row = try conversation(append.conversation),
            let stored = try store.message(append.submission.id, in: row.number)?.content, stored != append.sent
        else { return nil }
        return stored
    }

    /// Whether a community's members may hear that the channel moved without hearing the channel.
    func isListed(_ row: ConversationRow) -> Bool { row.id.kind == .community && !row.isPrivate }

    /// The message that has the id already, be its row gone: a retry that comes late must not be a second message.
    private func stored(withIDOf append: Append) throws -> (key: KeyRow, epoch: Epoch)? {
        guard let row = try conversation(append.conversation), !row.isDeleted,
            let key = try key(append.submission.id, in: row)
        else { return nil }
        return (key, row.epoch(in: generation))
    }

    func key(_ id: MessageID, in row: ConversationRow) throws -> KeyRow? {
        if let message = try store.message(id, in: row.number) { return KeyRow(message) }
        // Where nothing is gone there are no keys; a floor may have taken in a hole whose rows went before.
        return row.firstSeq > 1 || row.hasVoids ? try store.key(id, in: row.number) : nil
    }

    private func deliver(_ append: Append) -> SendResult {
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

    /// Gives the next place, and stores the message there.
    ///
    /// - Parameter isNews: whether it is a mention of those it mentions; nobody is behind on what was said elsewhere.
    func insert(
        _ submission: Submission, of append: Append, at time: Timetoken, in row: inout ConversationRow,
        permissions: Permissions, isNews: Bool = true
    ) throws -> MessageRow {
        row.head += 1
        if submission.traits.countsUnread { row.n += 1 }
        row.timetoken = time
        if submission.traits.bits & MessageTraits.passedOver == 0 {
            row.recentSeq = row.head
            row.recentTime = time
        }
        if row.head == row.firstSeq { row.floorTime = time }
        let seesAll = permissions[.read, row.id.kind].isMet(by: nil, isAdmin: append.senderIsAdmin)
        let thread = try thread(of: submission, by: append.sender, seesAll: seesAll, in: row)
        let message = MessageRow(
            seq: row.head, n: row.n, timetoken: time, id: submission.id, sender: append.sender,
            type: submission.content.type, content: submission.content.json, attributes: submission.attributes,
            digest: append.digest, thread: thread)
        try store.insert(message, in: row.number)
        if isNews, let mentions = submission.attributes.mentions {
            if mentions.everyone {
                try store.insertMention(of: nil, by: append.sender, at: row.head, in: row.number)
            }
            for user in Set(mentions.users) where user != append.sender {
                try store.insertMention(of: user, by: append.sender, at: row.head, in: row.number)
            }
        }
        return message
    }

    /// A sender doesn't count their own message.
    ///
    /// If nothing unread lies between their position and it, neither a message that counts nor a mention, the position
    /// moves past it; else its number is one they don't count. Sending reads nothing else.
    func passOwn(_ message: MessageRow, by sender: UserID, in row: ConversationRow, countBefore: Int64) throws {
        guard row.id.kind.traits.hasRecents, try role(of: sender, in: row) != nil else {
            return try signGuestbook(of: row.number, as: sender)
        }
        let known = try self.member(sender, of: row.number)
        // Who has none is in a community's public channel: from here on they have a position there.
        var member = known ?? MemberRow(conversation: row.number, user: sender, standing: .reader)
        var joined = (seq: member.joinSeq, n: member.joinN)
        // One of when that was private says when they were put in, and not when they joined the community.
        if known == nil || row.isPublicChannel && member.standing != .reader {
            joined = try joinOfReader(sender, in: row, head: message.seq - 1, n: countBefore)
        }
        if known == nil { (member.joinSeq, member.joinN) = joined }
        let base = max(row.floorN, joined.n, member.readN, member.clearN)
        let position = max(member.readSeq, joined.seq, member.clearSeq, row.firstSeq - 1)
        if base == countBefore, try store.mentions(of: sender, in: row.number, above: position).isEmpty {
            member.readSeq = message.seq
            member.readN = message.n
            return put(member)
        }
        if message.n > countBefore {
            try store.insert(message.n...message.n, into: .uncounted(sender), of: row.number)
        }
        if known == nil { try signGuestbook(of: row.number, as: sender) }
    }

    /// Where somebody joined who is a member of a channel by its community's list, and the running number there.
    private func joinOfReader(
        _ user: UserID, in row: ConversationRow, head: Seq, n: Int64
    ) throws -> (seq: Seq, n: Int64) {
        guard row.id.kind == .community, let community = try conversation(.community(row.id.target)),
            case let spans = try store.spans(of: user, in: community.number),
            let joined = (spans.first { $0.left == nil } ?? spans.last)?.joined
        else { return (head, n) }
        let place = try store.place(atOrBefore: Timetoken(span: joined), in: row)
        if place >= head { return (head, n) }
        return (place, try store.place(atOrBelow: place, in: row.number)?.n ?? row.floorN)
    }

    private func conversationForSending(_ append: Append, permissions: Permissions) throws -> ConversationRow {
        let sender = Caller(user: append.sender, isAdmin: append.senderIsAdmin)
        if let row = try checkSending(to: append.conversation, by: sender, permissions: permissions) {
            if append.submission.attributes.priority == .high {
                try checkMaySendHigh(sender, in: row, permissions: permissions)
            }
            guard row.marks.contains(.lostPerson) else { return row }
            // What is refused lets nobody in.
            try append.judgement.check()
            return try admitMissing(sender.user, to: row)
        }
        // What is refused makes no conversation.
        try append.judgement.check()
        return try createNamed(append.conversation, by: sender.user)
    }

    private func checkMaySendHigh(_ sender: Caller, in row: ConversationRow, permissions: Permissions) throws {
        let role = try role(of: sender.user, in: row)
        guard permissions[.sendHigh, row.id.kind].isMet(by: role, isAdmin: sender.isAdmin) else {
            throw ChatError(
                .forbidden, "sending to \(row.id) with high priority takes more than you are there",
                parameter: "priority")
        }
    }

    /// Whether somebody may send to a conversation now.
    ///
    /// - Returns: nothing where sending there makes it.
    func checkSending(
        to id: ConversationID, by sender: Caller, permissions: Permissions
    ) throws -> ConversationRow? {
        if let row = try conversation(id), !row.isDeleted {
            let isBack = row.marks.contains(.lostPerson) && id.namedUsers.contains(sender.user)
            let role = try role(of: sender.user, in: row) ?? (isBack ? .member : nil)
            guard permissions[.send, id.kind].isMet(by: role, isAdmin: sender.isAdmin) else {
                try checkIsNotBanned(sender.user, from: row)
                // Who once was a member may see it, and is told why; nobody else learns that it exists.
                if role != nil { throw ChatError(.forbidden, "sending to \(id) takes more than you are there") }
                throw try hasStanding(sender.user, in: row)
                    ? ChatError(.notMember, "you are not a member of \(id) any more") : Access.unknown(id)
            }
            try checkMayWrite(sender, in: row, role: role)
            return row
        }
        let isNamed = id.namedUsers.contains(sender.user)
        guard id.kind.traits.isImplicit, isNamed || sender.isAdmin,
            permissions[.create, id.kind].isMet(by: nil, isAdmin: sender.isAdmin),
            permissions[.send, id.kind].isMet(by: isNamed ? .member : nil, isAdmin: sender.isAdmin)
        else { throw Access.unknown(id) }
        try store.checkIsNotBlocked(sender, in: id)
        return nil
    }
}
