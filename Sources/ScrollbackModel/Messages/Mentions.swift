/// Who a message calls by name, on any content.
public struct Mentions: Hashable, Sendable {
    /// Whether everyone in the conversation is meant.
    public let everyone: Bool
    /// Who is meant in particular, at most ``maximumUsers``; may be empty only where everyone is meant.
    public let users: [UserID]
    /// What the mentioned see in a push instead of the text.
    public let pushText: String?

    /// The most users one message may mention by name.
    public static let maximumUsers = 100

    package init(everyone: Bool, users: [UserID], pushText: String?) {
        self.everyone = everyone
        self.users = users
        self.pushText = pushText
    }

    /// Mentions users by name, at least one and at most ``maximumUsers``; else sending is `invalid-parameter`.
    public static func users(_ users: [UserID], pushText: String? = nil) -> Mentions {
        Mentions(everyone: false, users: users, pushText: pushText)
    }

    /// Mentions everyone in the conversation, and at most ``maximumUsers`` of them by name.
    public static func everyone(also users: [UserID] = [], pushText: String? = nil) -> Mentions {
        Mentions(everyone: true, users: users, pushText: pushText)
    }

    /// Whether a user is meant, by name or because everyone is.
    public func includes(_ user: UserID) -> Bool { everyone || users.contains(user) }

    /// Checks what came from outside.
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
