public import Foundation

/// An invitation to join a conversation that users can't join by themselves.
public struct Invitation: Hashable, Sendable {
    /// The conversation: a group, a community, or a private channel.
    public var conversation: ConversationID
    /// The invited user.
    public var user: UserID
    /// The user who sent the invitation.
    public var by: UserID
    /// The date of the invitation, or of its last renewal.
    public var at: Date
    /// The date when the invitation expires; `nil` if it does not.
    public var expiresAt: Date?
    /// The name of the conversation, which the invited user can't see yet; `nil` if it has none.
    public var name: String?
    /// The URL of the conversation's picture, as it was stored on the server.
    public var avatar: String?

    /// Creates an invitation.
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

    /// The valid lifetimes of an invitation in seconds: a minute to a year.
    package static let lifetimes: ClosedRange<Int64> = 60...31_536_000

    /// Returns the lifetime if it is valid.
    ///
    /// - Throws: `invalid-parameter` if it is out of range.
    package static func validated(lifetime: Int64?) throws(ChatError) -> Int64? {
        if let lifetime, !lifetimes.contains(lifetime) {
            throw .invalidParameter(
                "expiresIn", "must be in \(lifetimes) seconds", limit: Int(lifetimes.upperBound))
        }
        return lifetime
    }
}
