/// Who a message calls by name, on any content.
public struct Mentions: Hashable, Sendable {
    /// Whether everyone in the conversation is meant.
    public let everyone: Bool
    /// Who is meant in particular; may be empty only where everyone is meant.
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

    public static func users(_ users: [UserID], pushText: String? = nil) -> Mentions {
        Mentions(everyone: false, users: users, pushText: pushText)
    }

    public static func everyone(also users: [UserID] = [], pushText: String? = nil) -> Mentions {
        Mentions(everyone: true, users: users, pushText: pushText)
    }

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
