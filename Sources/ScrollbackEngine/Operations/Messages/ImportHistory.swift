package import Foundation
package import ScrollbackModel
package import ScrollbackWire

/// Imports messages of another system into a conversation.
package struct ImportHistory: ChatOperation {
    package static let endpoint = Endpoint(
        http: .post("/v1/conversations/{conversation}/import"), scope: .admin, callers: .administrator,
        cost: .write, tag: .messages,
        summary: "Import messages of another system",
        details: """
            The messages keep their times and their order, and types of the other system their names. The server skips \
            messages whose IDs it has already, so a batch can be retried. Every sender becomes a member who sees the \
            whole history. Importing into a direct conversation creates it.
            """,
        errors: [404, 409])

    package typealias Answer = ImportReport

    /// The largest number of messages in one request.
    private static let maximumMessages = 1000

    package var conversation: ConversationID
    package var messages: [ImportedMessage]
    package var countsUnread: Bool

    package init(conversation: ConversationID, messages: [ImportedMessage], countsUnread: Bool = false) {
        self.conversation = conversation
        self.messages = messages
        self.countsUnread = countsUnread
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        conversation = try request.required("conversation")
        let limits = request.limits
        messages = try request.required(
            "messages", .array(.component("ImportedMessage"), count: 0...Self.maximumMessages), example: Self.example,
            "Oldest first."
        ) { (value) throws(ChatError) in
            try value.list("messages", limit: Self.maximumMessages) { (message) throws(ChatError) in
                try ImportedMessage(from: &message, limits: limits)
            }
        }
        countsUnread =
            try request.omittable(
                "countsUnread",
                """
                Whether the messages count as unread and mention users, as their types and flags say. The default is \
                `false`.
                """) ?? false
    }

    private static let example = """
        [{"id":"0198f3c2-7c1e-7000-8000-0123456789ab","type":"text","content":{"text":"hi"},"sender":"alice",\
        "sentAt":"2026-11-20T09:00:00.000Z"}]
        """
}

extension ImportHistory: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<ImportReport>) {
        context.engine.importHistory(
            messages, into: conversation, countsUnread: countsUnread, by: context.caller, completion: completion)
    }
}

extension ImportedMessage {
    fileprivate init(from reader: inout JSONReader, limits: Limits) throws(ChatError) {
        let message = try ImportedSubmission(from: &reader)
        self.init(
            sender: try message.sender.required("sender"), sentAt: try message.sentAt.required("sentAt"),
            submission: try Submission(from: message.fields, limits: limits, isImported: true))
    }
}

extension ImportReport: OperationAnswer {
    package static let schema: JSONSchema? = .object([
        .init("imported", .integer(0...Int.max), "How many messages are new."),
        .init("skipped", .integer(0...Int.max), "How many of the messages the conversation had already."),
        .init("head", .integer(0...Int.max), "The newest position of the conversation."),
    ])

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("imported", imported)
        writer.field("skipped", skipped)
        writer.field("head", head)
    }
}

extension Engine {
    /// Imports messages of another system, oldest first, with their times.
    ///
    /// - Parameter countsUnread: Whether the messages count as unread, as their types and flags say.
    package func importHistory(
        _ messages: [ImportedMessage], into id: ConversationID, countsUnread: Bool = false, by caller: Caller,
        completion: @escaping Completion<ImportReport>
    ) {
        let log = id.logID.absolute(for: caller.user)
        self.commits.submit(
            for: WorkOwner(caller),
            { [permissions] in
                try $0.importHistory(
                    messages, into: log, countsUnread: countsUnread, by: caller, permissions: permissions)
            }, completion: completion)
    }
}

/// A message of another system.
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

/// The result of an import.
package struct ImportReport: Hashable, Sendable {
    package var imported: Int
    /// How many of the messages the conversation had already.
    package var skipped: Int
    /// The newest position of the conversation.
    package var head: Seq

    package init(imported: Int, skipped: Int, head: Seq) {
        self.imported = imported
        self.skipped = skipped
        self.head = head
    }
}

extension Transaction {
    /// Appends messages that keep their times, and skips messages whose IDs the conversation has already.
    ///
    /// Every sender becomes a member who sees the whole history. Without `countsUnread`, the messages are unread for no
    /// member. With it they count like new messages, for new members too. No member counts their own messages. These
    /// advance the read position of their sender if all messages before them are read.
    ///
    /// - Throws: `outOfOrder` when a new message is older than the newest message of the conversation. `conflict` when
    ///   another message has the same ID.
    func importHistory(
        _ messages: [ImportedMessage], into id: ConversationID, countsUnread: Bool = false, by caller: Caller,
        permissions: Permissions
    ) throws -> ImportReport {
        let known = try conversationForImport(id, by: caller, permissions: permissions)
        // An export of another server has messages of erased users.
        for sender in Set(messages.map(\.sender)) where !sender.isErasedUser { try checkIsNotErased(sender) }
        try store.checkMayStart(id, by: caller)
        var row = known ?? ConversationRow(id: id, salt: 0, createdAt: now.date)
        var report = ImportReport(imported: 0, skipped: 0, head: 0)

        // All checks come before the first change.
        var fresh: [AppendRequest] = []
        var seen: [MessageID: (sender: UserID, digest: Int64)] = [:]
        var times: [Timetoken] = []
        var files: [[MediaID]] = []
        var newest = row.timetoken
        for message in messages {
            var append = AppendRequest(
                conversation: id, caller: Caller(user: message.sender, isAdmin: true), submission: message.submission)
            // The digest is that of the request, so that a retry matches with either value of `countsUnread`.
            if !countsUnread { append.submission.attributes.traits.countsUnread = false }
            let messageID = message.submission.id
            let earlier =
                try seen[messageID] ?? key(messageID, in: row).map { ($0.sender, $0.digest) }
            seen[messageID] = (message.sender, append.digest)
            if let earlier {
                guard earlier == (message.sender, append.digest) else {
                    throw ChatError(
                        .conflict, "The message ID \(messageID) is already used for another message.", parameter: "id")
                }
                report.skipped += 1
                continue
            }
            let time = Timetoken(message.sentAt)
            guard time.millisecond >= newest.millisecond else {
                throw ChatError(
                    .outOfOrder,
                    "Message \(messageID) of \(message.sentAt.iso8601) is older than the newest message in \(id), of "
                        + "\(newest.date.iso8601). Import messages oldest first.", parameter: "sentAt")
            }
            guard message.sentAt.timeIntervalSince1970 >= 0 else {
                throw ChatError.invalidParameter("sentAt", "of message \(messageID) must not be before 1970")
            }
            guard time <= now else {
                throw ChatError.invalidParameter("sentAt", "of message \(messageID) must not be in the future")
            }
            newest = newest.advanced(to: time)
            files.append(try importedFiles(of: append, permissions: permissions))
            fresh.append(append)
            times.append(newest)
        }

        if !fresh.isEmpty {
            try checkGrowth(Growth(), by: caller)
            if known == nil {
                row = try createNamed(id, by: caller.user)
            } else if row.flags.contains(.missingParticipant) {
                row = try addMissingParticipants(caller.user, to: row)
            }
            // Senders become members first, so that their messages count as those of members.
            row = try put(row)
            try admitImported(Set(fresh.map(\.sender)), to: row, by: caller.user)
            row = try conversation(id) ?? row
        }
        for ((append, time), files) in zip(zip(fresh, times), files) {
            let countBefore = row.countedIndex
            let message = try insert(
                append, at: time, in: &row, permissions: permissions, storesMentions: countsUnread)
            try addReferences(to: files, at: message.seq, in: row.number)
            if countsUnread { try excludeOwnFromUnread(message, by: append.sender, in: row, countBefore: countBefore) }
            if message.thread != nil {
                row = try put(row)
                try countReply(of: message, by: 1, in: &row)
            }
        }
        if !fresh.isEmpty {
            recordTime(row.timetoken)
            row = try put(row)
            report.imported = fresh.count
            publish(
                .headChanged(
                    row.id, HeadAnnouncement(row, generation: generation), notifiesCommunity: notifiesCommunity(row)))
            // Counted indexes alone would make the senders' devices count their own messages.
            if countsUnread {
                for sender in Set(fresh.map(\.sender)).sorted() { publish(.memberStateChanged(row.id, sender)) }
            }
        }
        report.head = row.head
        if report.imported > 0 { try audit(.importHistory, by: caller, in: row, detail: "\(report.imported)") }
        return report
    }

    /// Checks the files of an imported message and returns their IDs.
    ///
    /// - Throws: The errors of a send, with the ID of the message. `unknown-media` also has the ID of the file.
    private func importedFiles(of append: AppendRequest, permissions: Permissions) throws -> [MediaID] {
        let (id, content) = (append.submission.id, append.submission.content)
        do {
            return try checkedFiles(of: content, by: append.caller, limits: mediaLimits, permissions: permissions)
        } catch var error as ChatError {
            // An import may refer to all files, so this one does not exist.
            let missing = try content.fileReferences.first { try !$0.isQuoted && store.media($0.id) == nil }
            error.message =
                if error.code == .unknownMedia, let missing {
                    "Message \(id) refers to the file \(missing.id), which the server does not have. Upload the "
                        + "file with this ID first (POST /v1/media?id=\(missing.id)), or leave the message out."
                } else {
                    "Message \(id): \(error.message)"
                }
            throw error
        }
    }

    /// - Returns: `nil` for a conversation that its first message creates.
    private func conversationForImport(
        _ id: ConversationID, by caller: Caller, permissions: Permissions
    ) throws -> ConversationRow? {
        let exists = try conversation(id).map { !$0.isDeleted } ?? false
        if !exists, id.kind.traits.isImplicit,
            permissions[.importHistory, id.kind].isMet(by: nil, isAdmin: caller.isAdmin)
        {
            return nil
        }
        let row = try conversation(id, seenBy: caller, permissions: permissions)
        let role = try role(of: caller.user, in: row)
        try permissions.require(.importHistory, in: id, as: role, by: caller, to: "import messages")
        return row
    }

    /// Makes the senders members who see the history from its beginning.
    private func admitImported(_ senders: Set<UserID>, to row: ConversationRow, by caller: UserID) throws {
        var lists: [ConversationRow] = []
        if let community = row.id.community, let outer = try conversation(community) { lists.append(outer) }
        if row.isPrivate || row.id.kind.traits.membership == .listed { lists.append(row) }
        // Users who are banned from a community become members of none of its channels.
        let admitted = try senders.sorted().filter { sender in
            try !sender.isErasedUser
                && !lists.contains { list in
                    try store.ban(of: sender, in: list.number)?.ban.isActive(at: now.date) ?? false
                }
        }
        for list in lists {
            for sender in admitted where try member(sender, of: list.number)?.standing != .member {
                try addMember(sender, as: .member, to: list, sinceBeginning: true, by: caller)
            }
        }
        for sender in senders { try recordParticipant(in: row.number, as: sender) }
    }
}

extension Timetoken {
    fileprivate var millisecond: UInt64 { rawValue / Timetoken.ticksPerMillisecond }
}
