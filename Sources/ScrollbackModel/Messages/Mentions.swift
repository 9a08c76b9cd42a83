/// The users that a message mentions, with any type of content.
public struct Mentions: Hashable, Sendable {
    /// Whether the message mentions everyone in the conversation.
    public let everyone: Bool
    /// The users mentioned by name, at most ``maximumUsers``.
    ///
    /// The list can be empty only if ``everyone`` is `true`.
    public let users: [UserID]
    /// The push text for the mentioned users, in place of the message's text.
    public let pushText: String?

    /// The maximum number of users that one message can mention by name.
    public static let maximumUsers = 100

    package init(everyone: Bool, users: [UserID], pushText: String?) {
        self.everyone = everyone
        self.users = users
        self.pushText = pushText
    }

    /// Mentions users by name.
    ///
    /// The list must have 1...``maximumUsers`` elements; otherwise sending fails with `invalid-parameter`.
    public static func users(_ users: [UserID], pushText: String? = nil) -> Mentions {
        Mentions(everyone: false, users: users, pushText: pushText)
    }

    /// Mentions everyone in the conversation, and up to ``maximumUsers`` users by name.
    public static func everyone(also users: [UserID] = [], pushText: String? = nil) -> Mentions {
        Mentions(everyone: true, users: users, pushText: pushText)
    }

    /// Returns whether a user is mentioned by name or as part of everyone.
    public func includes(_ user: UserID) -> Bool { everyone || users.contains(user) }

    /// Validates mentions from outside.
    ///
    /// - Throws: `invalid-parameter` if the mentions are empty or the list is too long.
    package func validated() throws(ChatError) -> Mentions {
        if !everyone, users.isEmpty {
            throw .invalidParameter("mentions", "must name at least one user, or everyone")
        }
        if users.count > Self.maximumUsers {
            throw .invalidParameter(
                "mentions", "must name at most \(Self.maximumUsers) users", limit: Self.maximumUsers)
        }
        return self
    }
}
