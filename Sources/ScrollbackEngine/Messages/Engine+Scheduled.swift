import Foundation
import ScrollbackModel
import ScrollbackWire
import Synchronization

/// Sends messages at the times for which their senders scheduled them.
///
/// One transaction sends a message and removes it from the schedule, so it is sent once, also after a crash. A message
/// is checked when it is sent, with the rights that its sender has then.
extension Engine {
    /// The number of messages that one turn reads.
    private static let scheduledBatch = 100
    /// How long the server waits at least after a temporary error, in seconds.
    private static let scheduledRetry: TimeInterval = 5

    /// Sends the messages whose time has come.
    ///
    /// The messages of one user are sent in order. Those of several users are sent at the same time, so that a slow or
    /// refused message delays no other user's. Without due messages, this reads nothing from the store.
    package func sendScheduledMessages() async throws {
        let now = clock()
        guard isLeader, nextScheduled.take(dueBy: now) else { return }
        // If the store fails below, the next turn tries again.
        var next: Date? = now.addingTimeInterval(Self.scheduledRetry)
        defer { if let next { nextScheduled.add(next) } }
        var count = Self.scheduledBatch
        while count == Self.scheduledBatch, !Task.isCancelled {
            let rows = try store.read { try $0.scheduled(dueBy: now, limit: Self.scheduledBatch) }
            try await withThrowingTaskGroup { group in
                for rows in Dictionary(grouping: rows, by: \.user).values {
                    group.addTask { for row in rows { try await self.sendScheduled(row) } }
                }
                try await group.waitForAll()
            }
            count = rows.count
        }
        next = try store.read { try $0.nextScheduled() }
    }

    /// Sends a scheduled message, or records why it was refused or when to try again.
    private func sendScheduled(_ row: ScheduledRow) async throws {
        do throws(ChatError) {
            try await send(row)
        } catch {
            var changed = row
            if error.isTemporary {
                changed.dueAt = clock().addingTimeInterval(max(Self.scheduledRetry, error.retryAfter ?? 0))
            } else {
                changed.failure = error.code.rawValue
            }
            try await submit { [changed] in try $0.replace(row, changed) }
        }
    }

    private func send(_ row: ScheduledRow) async throws(ChatError) {
        let caller = Caller(user: row.user)
        let count = erasureCount
        let submission: Submission
        do {
            // Revoked tokens do not matter, because none is presented.
            try checkAccount(of: row.user)
            submission = try row.submission()
        } catch {
            throw error as? ChatError ?? ChatError(.internalError, "The store can't be read.", cause: error)
        }
        let id = row.conversation.absolute(for: row.user)
        let filterRequest = FilterRequest(
            in: id, by: row.user, id: row.id, content: submission.content, attributes: submission.attributes)
        let result: Result<Void, ChatError> = await withCheckedContinuation { continuation in
            moderate(
                filterRequest, by: caller, origin: nil, refuse: { continuation.resume(returning: .failure($0)) }
            ) { [self] filterResult in
                let append = AppendRequest(
                    conversation: id, caller: caller, submission: submission, filterResult: filterResult)
                commits.submit(
                    for: WorkOwner(caller), about: [append.footprint],
                    { [permissions, erasing, mentionLimiter] in
                        try erasing.check(row.user, since: count)
                        try $0.send(row, append, permissions, mentionLimiter)
                    }, completion: { continuation.resume(returning: $0) })
            }
        }
        try result.get()
    }

    /// Returns a page of a user's scheduled messages, about 512 KiB at most.
    func scheduledMessages(of user: UserID, _ page: Paging) throws -> ListPage<ScheduledMessage> {
        try checkLimit(page.limit)
        let after = try page.cursor.map { (text) throws(ChatError) in try MessageID(text, parameter: "cursor") }
        return try store.read { store in
            var last = after
            var messages: [ScheduledMessage] = []
            var bytes = 0
            // Messages are large, so each is read only if it fits into the page.
            while let row = try store.scheduled(of: user, after: last, limit: 1).first {
                guard messages.count < page.limit, bytes < ResponseBudget.answerBytes else {
                    return ListPage(messages, cursor: last?.description)
                }
                last = row.id
                bytes += row.body.text.utf8.count
                messages.append(
                    ScheduledMessage(
                        conversation: row.conversation, submission: try row.submission(), sendAt: row.sendAt,
                        failure: row.failure.map { ChatError.Code(rawValue: $0) }))
            }
            return ListPage(messages, cursor: nil)
        }
    }
}
