public import Foundation

/// A message that the server sends at a later time.
public struct ScheduledMessage: Hashable, Sendable {
    /// The conversation to which the message is sent.
    public var conversation: ConversationID
    /// The message, which keeps its ID when it is sent.
    public var submission: Submission
    /// When the server sends the message; at once if the time has passed.
    public var sendAt: Date
    /// Why the server could not send the message, for example `muted`; `nil` until it tried.
    ///
    /// The server does not try again, unless the message is scheduled anew.
    public var failure: ChatError.Code?

    /// Creates a scheduled message.
    public init(
        conversation: ConversationID, submission: Submission, sendAt: Date, failure: ChatError.Code? = nil
    ) {
        self.conversation = conversation
        self.submission = submission
        self.sendAt = sendAt
        self.failure = failure
    }
}
