public import Foundation
public import ScrollbackModel
import ScrollbackWire

extension Conversation {
    /// Lets the server send a message at a later time.
    ///
    /// Returns once the request is stored durably on this device. The client sends it when it is online. If the time
    /// has passed by then, the server sends the message at once. The message has the same ID when it is sent.
    ///
    /// The server checks the message when its time comes, as if the user sent it at that moment. If the server refuses
    /// it then, ``ChatClient/scheduledMessages(after:limit:)`` shows why. With a ``MessageCipher`` that encrypts, the
    /// server has only the encrypted message.
    ///
    /// - Parameters:
    ///   - content: The content. The content of a received message can be forwarded unchanged, including files.
    ///   - date: When to send the message, at most 366 days ahead.
    ///   - mentions: The users who are mentioned.
    ///   - replyTo: The message that this one replies to.
    ///   - metadata: An application-defined JSON object that is sent with the message.
    ///   - customType: An application-defined type to filter by.
    ///   - push: The options of push notifications for the message.
    ///   - id: The ID of a scheduled message to replace; `nil` for another message.
    /// - Returns: A handle that completes when the server stored the message. Its ID is the message's.
    /// - Throws: `invalid-parameter` or `too-large` if the message is invalid. `local-storage`. The server can still
    ///   refuse it: `conflict` if the user has 100 scheduled messages, or the errors of sending.
    @discardableResult
    public func schedule(
        _ content: MessageContent, at date: Date, mentioning mentions: Mentions? = nil,
        replyingTo replyTo: MessageID? = nil, metadata: RawJSON? = nil, customType: String? = nil,
        push: PushOptions? = nil, replacing id: MessageID? = nil
    ) async throws(ChatError) -> SendHandle {
        let attributes = MessageAttributes(
            mentions: mentions, metadata: metadata, customType: customType, push: try push?.json(), replyTo: replyTo)
        let submission = try Submission(id: id ?? core.newID(), content: content, attributes: attributes)
            .validated(limits: .standard)
        let sealed = try core.store.messageEncryption.seal(submission, to: self.id)
        // The outbox keeps one request for each ID, and this one may replace a message that is still queued.
        let operation = id == nil ? submission.id : core.newID()
        // The server recognizes a retry by another ID than that of the message, which it knows if it was cancelled.
        let request = ScheduleMessage(
            conversation: self.id, submission: sealed, sendAt: date, operation: core.newID())
        return try await core.queue(.schedule(request), operation, about: submission.id, in: self.id)
    }
}

/// A page of the user's scheduled messages.
public struct ScheduledPage: Sendable {
    /// The messages, sorted by ID.
    public var messages: [ScheduledMessage]
    /// The value of `after` for the next page; `nil` if there is none.
    public var next: MessageID?
}

extension ChatClient {
    /// Returns a page of the messages that the server will send for this user, and of those that it refused to send.
    ///
    /// Messages that this device has not sent to the server yet are not included.
    ///
    /// - Parameters:
    ///   - last: The `next` of the previous page.
    ///   - limit: The maximum number of messages, 1...100. A user has at most 100.
    /// - Throws: `invalid-parameter` for a limit out of range, or the errors of a request, such as `disconnected`.
    public func scheduledMessages(
        after last: MessageID? = nil, limit: Int = 100
    ) async throws(ChatError) -> ScheduledPage {
        try Conversation.check(limit)
        let answer = try await core.perform(
            ListScheduled(page: Paging(limit: limit, cursor: last?.description)))
        let encryption = core.store.messageEncryption
        let messages = answer.elements.map { message in
            var opened = message
            opened.submission = encryption.open(message.submission, to: message.conversation).0
            return opened
        }
        return ScheduledPage(
            messages: messages,
            next: try answer.cursor.map { (text) throws(ChatError) in try MessageID(text, parameter: "cursor") })
    }

    /// Cancels a scheduled message.
    ///
    /// It needs a connection, because the server may be sending the message.
    ///
    /// - Throws: `unknown-message` if the message was already sent or cancelled, or the errors of a request.
    public func cancelScheduledMessage(_ id: MessageID) async throws(ChatError) {
        _ = try await core.perform(CancelScheduled(id: id))
    }
}
