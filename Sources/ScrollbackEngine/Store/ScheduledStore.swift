package import Foundation
package import ScrollbackModel

/// Read operations for scheduled messages.
package protocol ScheduledReader {
    /// Returns a user's scheduled messages, ordered by ID.
    func scheduled(of user: UserID, after id: MessageID?, limit: Int) throws -> [ScheduledRow]
    func scheduled(_ id: MessageID, of user: UserID) throws -> ScheduledRow?
    func scheduledCount(of user: UserID) throws -> Int
    /// Returns the messages that have not failed and whose next attempt is due by a time, earliest first.
    func scheduled(dueBy time: Date, limit: Int) throws -> [ScheduledRow]
    /// Returns the earliest time at which an attempt to send a message is due.
    func nextScheduled() throws -> Date?
    /// Returns the digest by which the retry of a user's request to schedule a message is recognized; `nil` if the
    /// store has none.
    ///
    /// - Parameter id: The ID of the request, or that of a message that was cancelled.
    func retryDigest(of id: MessageID, of user: UserID) throws -> Int64?
}

/// Write operations for scheduled messages.
package protocol ScheduledWriter {
    /// Stores a message, and replaces the user's message with the same ID.
    func put(_ row: ScheduledRow) throws
    func dropScheduled(_ id: MessageID, of user: UserID) throws
    /// Deletes the scheduled messages of all users in a conversation.
    ///
    /// - Parameter conversation: The conversation's name from the users' point of view.
    func dropScheduled(in conversation: ConversationID) throws
    /// Stores the digest by which the retry of a user's request is recognized, and deletes the oldest ones beyond the
    /// newest `limit` of the user.
    ///
    /// The message is not deleted.
    func insertRetryDigest(_ id: MessageID, of user: UserID, digest: Int64, at time: Date, keeping limit: Int) throws
}

/// A message that the server sends at a later time.
package struct ScheduledRow: Hashable, Sendable {
    package var user: UserID
    package var id: MessageID
    /// The conversation, named from the user's point of view.
    package var conversation: ConversationID
    package var sendAt: Date
    /// When the server tries to send it; later than `sendAt` after a temporary error.
    package var dueAt: Date
    /// The submission as JSON.
    package var body: RawJSON
    /// The code of the error with which it was refused.
    package var failure: String?

    package init(
        user: UserID, id: MessageID, conversation: ConversationID, sendAt: Date, body: RawJSON, failure: String? = nil
    ) {
        self.user = user
        self.id = id
        self.conversation = conversation
        self.sendAt = sendAt
        dueAt = sendAt
        self.body = body
        self.failure = failure
    }

    /// A digest of what the user scheduled, which distinguishes a retry from a different message.
    package var digest: Int64 {
        Submission.digest(
            of: [conversation.description, "\(sendAt.timeIntervalSinceReferenceDate)", body.text])
    }
}
