package import Foundation
package import ScrollbackModel

extension Engine {
    /// Sends a message.
    ///
    /// Completes once it is on disk, or was refused; in the order of the calls.
    ///
    /// - Parameter origin: the connection it came by, which gets the completion and no event.
    package func send(
        _ submission: Submission, to id: ConversationID, by caller: Caller, origin: Origin? = nil,
        completion: @escaping Completion<SendResult>
    ) {
        let log = id.log.absolute(for: caller.user)
        let proposal = Proposal(
            in: log, by: caller.user, id: submission.id, content: submission.content, attributes: submission.attributes)
        screen(proposal, by: caller, origin: origin, refuse: { completion(.failure($0)) }) { [self] judgement in
            let append = Append(
                conversation: log, sender: caller, submission: submission, origin: origin, judgement: judgement)
            self.log.submit(
                { [permissions] in try $0.append(append, permissions: permissions) }, completion: completion)
        }
    }

    /// Moves the caller's read position up.
    ///
    /// Completes with their counts there.
    package func read(
        _ id: ConversationID, seq: Seq, epoch: Epoch, by caller: Caller, completion: @escaping Completion<ReadSummary>
    ) {
        let log = id.log.absolute(for: caller.user)
        self.log.submit(
            { [permissions] in
                try $0.read(log, seq: seq, epoch: epoch, by: caller, permissions: permissions)
            }, completion: completion)
    }

    /// Puts history in that was said elsewhere, oldest first, keeping its times.
    package func importHistory(
        _ messages: [ImportedMessage], into id: ConversationID, by caller: Caller,
        completion: @escaping Completion<ImportReport>
    ) {
        let log = id.log.absolute(for: caller.user)
        self.log.submit(
            { [permissions] in
                try $0.importHistory(messages, into: log, by: caller, permissions: permissions)
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
    /// Every sender becomes a member who sees all of it. It never counts as unread: nobody is behind on what was said
    /// elsewhere.
    ///
    /// - Throws: `out-of-order`, naming the message, when a new one is older than the newest there: it would have to go
    ///   before it. `conflict` when an id is another message's.
    func importHistory(
        _ messages: [ImportedMessage], into id: ConversationID, by caller: Caller, permissions: Permissions
    ) throws -> ImportReport {
        var row = try conversation(id, seenBy: caller, permissions: permissions)
        let role = try role(of: caller.user, in: row)
        guard permissions[.importHistory, id.kind].isMet(by: role, isAdmin: caller.isAdmin) else {
            throw ChatError(.forbidden, "importing into \(id) takes more than you are there")
        }
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
            append.submission.attributes.traits.countsUnread = false
            let messageID = message.submission.id
            let known =
                try seen[messageID] ?? key(messageID, in: row).map { ($0.sender, $0.digest) }
            seen[messageID] = (message.sender, append.digest)
            if let known {
                guard known == (message.sender, append.digest) else {
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

        for ((append, time), files) in zip(zip(fresh, times), files) {
            let message = try insert(
                append.submission, of: append, at: time, in: &row, permissions: permissions, isNews: false)
            try use(files, at: message.seq, in: row.number)
            if message.thread != nil {
                row = try put(row)
                try countReply(of: message, by: 1, in: &row)
            }
        }
        if !fresh.isEmpty {
            row = try put(row)
            try admitImported(Set(fresh.map(\.sender)), to: row)
            report.imported = fresh.count
            publish(.moved(row.id, LogMark(row, generation: generation), isListed: isListed(row)))
        }
        report.head = row.head
        return report
    }

    /// Those who spoke are members from the beginning.
    private func admitImported(_ senders: Set<UserID>, to row: ConversationRow) throws {
        var lists: [ConversationRow] = []
        if let community = row.id.community, let outer = try conversation(community) { lists.append(outer) }
        if row.isPrivate || row.id.kind.traits.membership == .listed { lists.append(row) }
        for list in lists {
            for sender in senders.sorted() where try member(sender, of: list.number)?.standing != .member {
                try admit(sender, as: .member, to: list, sinceBeginning: true)
            }
        }
    }
}

extension Timetoken {
    var millisecond: UInt64 { rawValue / Timetoken.ticksPerMillisecond }
}
