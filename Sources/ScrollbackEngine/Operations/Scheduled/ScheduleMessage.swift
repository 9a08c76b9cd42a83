import Foundation
import ScrollbackModel
package import ScrollbackWire

extension ScheduleMessage: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> EmptyAnswer {
        try transaction.schedule(
            submission, to: conversation, at: sendAt, by: context.caller.user, operation: operation,
            permissions: context.permissions)
        return EmptyAnswer()
    }
}

extension Transaction {
    /// The maximum number of a user's scheduled messages, with those that failed.
    private static let maximumScheduled = 100
    /// How far ahead a message can be scheduled.
    private static let longestWait: TimeInterval = 366 * 86_400

    /// Stores a message that is sent later, and replaces the user's message with the same ID.
    ///
    /// It is sent with the rights that the user then has, so an administrator has no additional ones.
    ///
    /// - Parameter operation: The ID of the request. Without it, the retry of a request whose message was replaced
    ///   looks like a new request, and replaces the message again.
    /// - Throws: `conflict` if the ID was used for a different request, and the errors of sending.
    fileprivate func schedule(
        _ submission: Submission, to name: ConversationID, at time: Date, by user: UserID, operation: MessageID?,
        permissions: Permissions
    ) throws {
        guard time <= now.date.addingTimeInterval(Self.longestWait) else {
            throw ChatError.invalidParameter("sendAt", "must be at most 366 days ahead")
        }
        let id = name.logID.absolute(for: user)
        let sender = Caller(user: user)
        let message = ScheduledRow(
            user: user, id: submission.id, conversation: id.relative(to: user), sendAt: time, body: submission.json)
        if let operation, let known = try store.retryDigest(of: operation, of: user) {
            guard known == message.digest else { throw ChatError.usedOperation(operation) }
            // A retry whose message was perhaps replaced, cancelled or sent in the meantime.
            return
        }
        var sent: KeyRow?
        if let row = try conversation(id), !row.isDeleted { sent = try key(submission.id, in: row) }
        // A retry whose message was sent in the meantime.
        if sent?.sender == user, sent?.digest == submission.digest { return }
        // A retry whose message was cancelled in the meantime.
        if try store.retryDigest(of: message.id, of: user) == message.digest { return }
        try submission.content.checkIsNotEvent(byAdmin: false)
        _ = try checkMaySend(to: id, by: sender, permissions: permissions, now: now.date)
        // After the check, because others must not learn which messages exist.
        guard sent == nil else {
            throw ChatError(
                .conflict, "The message ID \(submission.id) is already used for another message.", parameter: "id")
        }
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
        if let operation { try rememberRetry(of: operation, message) }
        publish(.scheduled(time))
    }
}

extension Submission {
    fileprivate var json: RawJSON {
        var writer = JSONWriter(reserving: 256)
        writer.object { writeMembers(to: &$0) }
        return RawJSON(known: writer.text)
    }
}
