/// Something somebody attached to a message: a reaction, or any other annotation with a type and a value.
///
/// One person attaches the same type and value to a message once.
public struct MessageAction: Hashable, Sendable {
    /// The message it is attached to.
    public var message: MessageID
    /// Its own time, which no other action of the conversation has: what removes it, and what a list is read on by.
    public var timetoken: Timetoken
    /// Who attached it.
    public var sender: UserID
    /// The type, such as `reaction`; 1...64 bytes of UTF-8.
    public var type: String
    /// The value, such as an emoji; 1...128 bytes of UTF-8.
    public var value: String

    /// An action with all that belongs to it.
    public init(message: MessageID, timetoken: Timetoken, sender: UserID, type: String, value: String) {
        self.message = message
        self.timetoken = timetoken
        self.sender = sender
        self.type = type
        self.value = value
    }

    /// The type of reactions.
    public static let reaction = "reaction"

    /// The longest type and value, in bytes.
    package static let longest = (type: 64, value: 128)

    /// - Throws: `invalid-parameter` when a type or a value is empty or too long.
    package static func check(type: String, value: String) throws(ChatError) {
        for (name, text, limit) in [("type", type, longest.type), ("value", value, longest.value)]
        where !(1...limit).contains(text.utf8.count) {
            throw .invalidParameter(name, "must be 1...\(limit) bytes of UTF-8", limit: limit)
        }
    }
}

/// What a message's actions of one type and value come to.
///
/// A message carries at most ``maximum`` of these, those that were there first; a list of actions has them all.
public struct ActionSummary: Hashable, Sendable {
    /// The type, such as `reaction`.
    public var type: String
    /// The value, such as an emoji.
    public var value: String
    /// How many people attached it.
    public var count: Int64
    /// The first of them, at most ``maximumSenders``.
    public var senders: [UserID]

    /// A summary with all that belongs to it.
    public init(type: String, value: String, count: Int64, senders: [UserID]) {
        self.type = type
        self.value = value
        self.count = count
        self.senders = senders
    }

    /// The most summaries a message carries.
    public static let maximum = 32
    /// The most senders a summary names.
    public static let maximumSenders = 20
}

/// What a message's replies come to.
public struct ReplySummary: Hashable, Sendable {
    /// How many replies there are now.
    public var count: Int64
    /// The newest reply's time.
    public var lastReplyAt: Timetoken

    /// A summary with all that belongs to it.
    public init(count: Int64, lastReplyAt: Timetoken) {
        self.count = count
        self.lastReplyAt = lastReplyAt
    }
}
