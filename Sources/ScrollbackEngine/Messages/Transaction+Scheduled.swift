import Foundation
import ScrollbackModel
import ScrollbackWire

extension Transaction {
    /// How many cancelled messages and operation IDs of a user the store remembers.
    private static let maximumRetryDigests = 100

    /// Cancels a scheduled message.
    ///
    /// The store remembers its digest, because a device that never got the answer to its request sends it again.
    ///
    /// - Returns: Whether the user had the message.
    func cancelScheduled(_ id: MessageID, of user: UserID) throws -> Bool {
        guard let message = try store.scheduled(id, of: user) else { return false }
        try store.dropScheduled(id, of: user)
        try rememberRetry(of: id, message)
        return true
    }

    /// Stores the digest of a message, by which the store recognizes a retry of its request.
    ///
    /// - Parameter id: The ID of the request, or that of the message if it was cancelled.
    func rememberRetry(of id: MessageID, _ message: ScheduledRow) throws {
        try store.insertRetryDigest(
            id, of: message.user, digest: message.digest, at: now.date, keeping: Self.maximumRetryDigests)
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

extension ScheduledRow {
    func submission() throws(ChatError) -> Submission {
        var reader = JSONReader(body.text)
        // The limits may have been higher when the message was scheduled. It is checked again when it is sent.
        return try Submission(from: SubmissionFields(from: &reader), limits: .standard)
    }
}
