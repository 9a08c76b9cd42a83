package import Foundation
package import ScrollbackModel

extension Engine {
    /// Sends a message.
    ///
    /// Completes once it is on disk, or was refused; in the order of the calls.
    ///
    /// - Parameters:
    ///   - origin: the connection it came by, which gets the completion and no event.
    ///   - shutOuts: ``shutOuts`` when it was seen that the caller may come in, where that was a while ago.
    package func send(
        _ submission: Submission, to id: ConversationID, by caller: Caller, origin: Origin? = nil,
        since shutOuts: Int? = nil, completion: @escaping Completion<SendResult>
    ) {
        let log = id.log.absolute(for: caller.user)
        let shutOuts = shutOuts ?? self.shutOuts
        let proposal = Proposal(
            in: log, by: caller.user, id: submission.id, content: submission.content, attributes: submission.attributes)
        screen(proposal, by: caller, origin: origin, refuse: { completion(.failure($0)) }) { [self] judgement in
            let append = Append(
                conversation: log, sender: caller, submission: submission, origin: origin, judgement: judgement)
            self.log.submit(
                { [permissions, erasing] in
                    try erasing.check(caller.user, since: shutOuts)
                    return try $0.append(append, permissions: permissions)
                }, completion: completion)
        }
    }

    /// Puts history in that was said elsewhere, oldest first, keeping its times.
    ///
    /// - Parameter countsUnread: whether it counts as unread, as each message's type and flags say; none of it does unless
    ///   told.
    package func importHistory(
        _ messages: [ImportedMessage], into id: ConversationID, countsUnread: Bool = false, by caller: Caller,
        completion: @escaping Completion<ImportReport>
    ) {
        let log = id.log.absolute(for: caller.user)
        self.log.submit(
            { [permissions] in
                try $0.importHistory(
                    messages, into: log, countsUnread: countsUnread, by: caller, permissions: permissions)
            }, completion: completion)
    }
}

/// A message that was said elsewhere.
package struct ImportedMessage: Sendable {
    package var sender: UserID
    package var sentAt: Date
    package var submission: Submission

    package init(sender: UserID, sentAt: Date, submission: Submission) {
        self.sender = sender
        self.sentAt = sentAt
        self.submission = submission
    }
}

/// What became of an import's batch.
package struct ImportReport: Hashable, Sendable {
    package var imported: Int
    /// Messages that were there already.
    package var skipped: Int
    package var head: Seq

    package init(imported: Int, skipped: Int, head: Seq) {
        self.imported = imported
        self.skipped = skipped
        self.head = head
    }
}

extension Transaction {
    /// Appends a batch whose messages keep their times; known ids are skipped, so a batch may come again.
    ///
    /// Every sender becomes a member who sees all of it. Unless it is told to count, nothing of it is unread: nobody is
    /// behind on what was said elsewhere. What counts, counts as if it were said now: for whoever was a member before, and
    /// for those who become members by it, who have read nothing; nobody counts their own messages, which move their
    /// position on where nothing unread lies before them.
    ///
    /// - Throws: `out-of-order`, naming the message, when a new one is older than the newest there: it would have to go
    ///   before it. `conflict` when an id is another message's.
    func importHistory(
        _ messages: [ImportedMessage], into id: ConversationID, countsUnread: Bool = false, by caller: Caller,
        permissions: Permissions
    ) throws -> ImportReport {
        let known = try conversationForImport(id, by: caller, permissions: permissions)
        for sender in Set(messages.map(\.sender)) { try checkIsNotErased(sender) }
        var row = known ?? ConversationRow(id: id, salt: 0, createdAt: now.date)
        var report = ImportReport(imported: 0, skipped: 0, head: 0)

        // Everything is checked before anything is changed.
        var fresh: [Append] = []
        var seen: [MessageID: (sender: UserID, digest: Int64)] = [:]
        var times: [Timetoken] = []
        var files: [[MediaID]] = []
        var newest = row.timetoken
        for message in messages {
            var append = Append(
                conversation: id, sender: Caller(user: message.sender, isAdmin: true), submission: message.submission)
            // The digest is that of what was handed over: the same file is known again, whichever way it counts.
            if !countsUnread { append.submission.attributes.traits.countsUnread = false }
            let messageID = message.submission.id
            let earlier =
                try seen[messageID] ?? key(messageID, in: row).map { ($0.sender, $0.digest) }
            seen[messageID] = (message.sender, append.digest)
            if let earlier {
                guard earlier == (message.sender, append.digest) else {
                    throw ChatError(
                        .conflict, "the id \(messageID) is another message's already", parameter: "id")
                }
                report.skipped += 1
                continue
            }
            let time = Timetoken(message.sentAt)
            guard time.millisecond >= newest.millisecond else {
                throw ChatError(
                    .outOfOrder,
                    "message \(messageID) of \(message.sentAt.iso8601) is older than the newest of \(id), of "
                        + "\(newest.date.iso8601): it would have to go before it", parameter: "sentAt")
            }
            guard message.sentAt.timeIntervalSince1970 >= 0 else {
                throw ChatError.invalidParameter("sentAt", "of message \(messageID) lies before 1970")
            }
            guard time <= now else {
                throw ChatError.invalidParameter("sentAt", "of message \(messageID) lies in the future")
            }
            newest = newest.advanced(to: time)
            files.append(
                try checkedFiles(
                    of: append.submission.content, by: Caller(user: message.sender, isAdmin: true), limits: mediaLimits,
                    permissions: permissions))
            fresh.append(append)
            times.append(newest)
        }

        if !fresh.isEmpty {
            if known == nil {
                row = try createNamed(id, by: caller.user)
            } else if row.marks.contains(.lostPerson) {
                row = try admitMissing(caller.user, to: row)
            }
            // Members first: what they say themselves is counted as a member's.
            row = try put(row)
            try admitImported(Set(fresh.map(\.sender)), to: row, by: caller.user)
            row = try conversation(id) ?? row
        }
        for ((append, time), files) in zip(zip(fresh, times), files) {
            let countBefore = row.n
            let message = try insert(
                append.submission, of: append, at: time, in: &row, permissions: permissions, isNews: countsUnread)
            try use(files, at: message.seq, in: row.number)
            if countsUnread { try passOwn(message, by: append.sender, in: row, countBefore: countBefore) }
            if message.thread != nil {
                row = try put(row)
                try countReply(of: message, by: 1, in: &row)
            }
        }
        if !fresh.isEmpty {
            note(row.timetoken)
            row = try put(row)
            report.imported = fresh.count
            publish(.moved(row.id, LogMark(row, generation: generation), isListed: isListed(row)))
            // By running numbers alone their devices would count what they said themselves.
            if countsUnread {
                for sender in Set(fresh.map(\.sender)).sorted() { publish(.standingChanged(row.id, sender)) }
            }
        }
        report.head = row.head
        return report
    }

    /// - Returns: nothing where its first message makes it.
    private func conversationForImport(
        _ id: ConversationID, by caller: Caller, permissions: Permissions
    ) throws -> ConversationRow? {
        let isThere = try conversation(id).map { !$0.isDeleted } ?? false
        if !isThere, id.kind.traits.isImplicit,
            permissions[.importHistory, id.kind].isMet(by: nil, isAdmin: caller.isAdmin)
        {
            return nil
        }
        let row = try conversation(id, seenBy: caller, permissions: permissions)
        let role = try role(of: caller.user, in: row)
        guard permissions[.importHistory, id.kind].isMet(by: role, isAdmin: caller.isAdmin) else {
            throw ChatError(.forbidden, "importing into \(id) takes more than you are there")
        }
        return row
    }

    /// Those who spoke are members from the beginning.
    private func admitImported(_ senders: Set<UserID>, to row: ConversationRow, by caller: UserID) throws {
        var lists: [ConversationRow] = []
        if let community = row.id.community, let outer = try conversation(community) { lists.append(outer) }
        if row.isPrivate || row.id.kind.traits.membership == .listed { lists.append(row) }
        // Who is kept out of a community is put into none of its channels.
        let welcome = try senders.sorted().filter { sender in
            try !lists.contains { list in
                try store.ban(of: sender, in: list.number)?.ban.holds(at: now.date) ?? false
            }
        }
        for list in lists {
            for sender in welcome where try member(sender, of: list.number)?.standing != .member {
                try admit(sender, as: .member, to: list, sinceBeginning: true, by: caller)
            }
        }
        for sender in senders { try signGuestbook(of: row.number, as: sender) }
    }
}

extension Timetoken {
    var millisecond: UInt64 { rawValue / Timetoken.ticksPerMillisecond }
}
