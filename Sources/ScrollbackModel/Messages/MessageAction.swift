/// An annotation on a message with a type and a value, such as a reaction.
///
/// A user can attach the same type and value to a message only once.
public struct MessageAction: Hashable, Sendable {
    /// The message.
    public var message: MessageID
    /// The time of the action, which is unique among the actions of the conversation.
    ///
    /// It identifies the action for removal and serves as the cursor of lists.
    public var timetoken: Timetoken
    /// The user who attached the action.
    public var sender: UserID
    /// The type, such as `reaction`; 1...64 bytes of UTF-8.
    public var type: String
    /// The value, such as an emoji; 1...128 bytes of UTF-8.
    public var value: String

    /// Creates an action.
    public init(message: MessageID, timetoken: Timetoken, sender: UserID, type: String, value: String) {
        self.message = message
        self.timetoken = timetoken
        self.sender = sender
        self.type = type
        self.value = value
    }

    /// The type of reactions.
    public static let reaction = "reaction"
    /// The type of votes in a poll; on other messages it has no meaning of its own.
    public static let vote = "vote"
    /// The type and the value of the action that pins a message for everyone.
    public static let pin = "pin"

    /// The maximum lengths of a type and a value in bytes.
    package static let longest = (type: 64, value: 128)

    /// Validates a type and a value.
    ///
    /// - Throws: `invalid-parameter` if one of them is empty or too long.
    package static func check(type: String, value: String) throws(ChatError) {
        for (name, text, limit) in [("type", type, longest.type), ("value", value, longest.value)]
        where !(1...limit).contains(text.utf8.count) {
            throw .invalidParameter(name, "must be 1...\(limit) bytes of UTF-8", limit: limit)
        }
    }
}

/// A summary of a message's actions of one type and value.
///
/// A message carries at most ``maximum`` summaries, those that were attached first. The list of actions has all of
/// them.
public struct ActionSummary: Hashable, Sendable {
    /// The type, such as `reaction`.
    public var type: String
    /// The value, such as an emoji.
    public var value: String
    /// The number of users who attached the action.
    public var count: Int64
    /// The first users who attached it, at most ``maximumSenders``.
    public var senders: [UserID]

    /// Creates a summary.
    public init(type: String, value: String, count: Int64, senders: [UserID]) {
        self.type = type
        self.value = value
        self.count = count
        self.senders = senders
    }

    /// The maximum number of summaries that a message carries.
    ///
    /// Pins and the votes of a poll are not counted.
    public static let maximum = 32
    /// The maximum number of senders in a summary.
    public static let maximumSenders = 20
}

/// A summary of a message's replies.
public struct ReplySummary: Hashable, Sendable {
    /// The current number of replies.
    public var count: Int64
    /// The time of the newest reply.
    public var lastReplyAt: Timetoken

    /// Creates a summary.
    public init(count: Int64, lastReplyAt: Timetoken) {
        self.count = count
        self.lastReplyAt = lastReplyAt
    }
}
