public import Foundation

/// That somebody may join a conversation which takes more than wanting to.
public struct Invitation: Hashable, Sendable {
    /// What they may join: a group, a community, or a private channel.
    public var conversation: ConversationID
    /// Who may.
    public var user: UserID
    /// Who has invited them.
    public var by: UserID
    /// When they were invited, or were so again.
    public var at: Date
    /// When it ends by itself; absent where it does not.
    public var expiresAt: Date?
    /// What the conversation is called, for who can't see it yet; absent where nobody gave it a name.
    public var name: String?
    /// Where a picture of the conversation is, as it was given to the server.
    public var avatar: String?

    /// An invitation with all that is known of it.
    public init(
        conversation: ConversationID, user: UserID, by: UserID, at: Date, expiresAt: Date? = nil, name: String? = nil,
        avatar: String? = nil
    ) {
        self.conversation = conversation
        self.user = user
        self.by = by
        self.at = at
        self.expiresAt = expiresAt
        self.name = name
        self.avatar = avatar
    }

    /// For how long somebody may be invited, in seconds: a minute to a year.
    package static let lifetimes: ClosedRange<Int64> = 60...31_536_000

    /// - Throws: `invalid-parameter` when it is out of range.
    package static func validated(lifetime: Int64?) throws(ChatError) -> Int64? {
        if let lifetime, !lifetimes.contains(lifetime) {
            throw .invalidParameter(
                "expiresIn", "must be in \(lifetimes) seconds", limit: Int(lifetimes.upperBound))
        }
        return lifetime
    }
}
