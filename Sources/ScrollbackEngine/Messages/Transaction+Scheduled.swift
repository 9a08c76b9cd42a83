import Foundation
import ScrollbackModel
import ScrollbackWire

extension Transaction {
    /// The maximum number of a user's scheduled messages, with those that failed.
    static let maximumScheduled = 100
    /// How many cancelled messages of a user the store remembers.
    private static let maximumCancelled = 100
    /// How far ahead a message can be scheduled.
    private static let longestWait: TimeInterval = 366 * 86_400

    /// Stores a message that is sent later, and replaces the user's message with the same ID.
    ///
    /// It is sent with the rights that the user then has, so an administrator has no additional ones.
    func schedule(
        _ submission: Submission, to name: ConversationID, at time: Date, by user: UserID, permissions: Permissions
    ) throws {
        guard time <= now.date.addingTimeInterval(Self.longestWait) else {
            throw ChatError.invalidParameter("sendAt", "must be at most 366 days ahead")
        }
        let id = name.logID.absolute(for: user)
        let sender = Caller(user: user)
        if let row = try conversation(id), !row.isDeleted, let sent = try key(submission.id, in: row) {
            // A retry whose message was sent in the meantime.
            if sent.sender == user, sent.digest == submission.digest { return }
            throw ChatError(
                .conflict, "The message ID \(submission.id) is already used for another message.", parameter: "id")
        }
        let message = ScheduledRow(
            user: user, id: submission.id, conversation: id.relative(to: user), sendAt: time, body: submission.json)
        // A retry whose message was cancelled in the meantime.
        if try store.cancelledDigest(of: message.id, of: user) == message.digest { return }
        try submission.content.checkIsNotEvent(byAdmin: false)
        _ = try checkMaySend(to: id, by: sender, permissions: permissions, now: now.date)
        let files = try checkedFiles(
            of: submission.content, by: sender, limits: mediaLimits, permissions: permissions)
        try space.check()
        if try store.scheduled(submission.id, of: user) == nil,
            try store.scheduledCount(of: user) >= Self.maximumScheduled
        {
            throw ChatError(
                .conflict, "You have \(Self.maximumScheduled) scheduled messages. Cancel one first.",
                limit: Self.maximumScheduled)
        }
        try keep(files, until: time)
        try store.put(message)
        publish(.scheduled(time))
    }

    /// Cancels a scheduled message.
    ///
    /// The store remembers its digest, because a device that never got the answer to its request sends it again.
    ///
    /// - Returns: Whether the user had the message.
    func cancelScheduled(_ id: MessageID, of user: UserID) throws -> Bool {
        guard let message = try store.scheduled(id, of: user) else { return false }
        try store.dropScheduled(id, of: user)
        try store.insertCancelled(
            id, of: user, digest: message.digest, at: now.date, keeping: Self.maximumCancelled)
        return true
    }

    /// Sends a scheduled message, unless it was changed or cancelled since `row` was read.
    func send(_ row: ScheduledRow, _ append: AppendRequest, _ permissions: Permissions, _ limiter: MentionLimiter?)
        throws
    {
        guard try store.scheduled(row.id, of: row.user) == row else { return }
        _ = try self.append(append, permissions: permissions, mentionLimiter: limiter)
        try store.dropScheduled(row.id, of: row.user)
    }

    /// Replaces a scheduled message, unless it was changed or cancelled since `row` was read.
    func replace(_ row: ScheduledRow, _ changed: ScheduledRow) throws {
        guard try store.scheduled(row.id, of: row.user) == row else { return }
        if changed.failure == nil {
            try keep(changed.submission().content.fileReferences.map(\.id), until: changed.dueAt)
        }
        try store.put(changed)
    }
}

extension Submission {
    fileprivate var json: RawJSON {
        var writer = JSONWriter(reserving: 256)
        writer.object { writeMembers(to: &$0) }
        return RawJSON(known: writer.text)
    }
}

extension ScheduledRow {
    func submission() throws(ChatError) -> Submission {
        var reader = JSONReader(body.text)
        // The limits may have been higher when the message was scheduled. It is checked again when it is sent.
        return try Submission(from: SubmissionFields(from: &reader), limits: .standard)
    }
}
