/// The public profile of a user.
public struct UserProfile: Hashable, Sendable, Identifiable {
    /// The user.
    public var id: UserID
    /// The display name, at most 128 bytes of UTF-8 without control characters.
    public var name: String?
    /// The `http` or `https` URL of the picture, at most 2,048 bytes of UTF-8.
    public var avatar: String?
    /// An application-defined JSON object of at most 32 KiB, preserved byte for byte.
    public var metadata: RawJSON?

    /// Creates a profile.
    public init(id: UserID, name: String? = nil, avatar: String? = nil, metadata: RawJSON? = nil) {
        self.id = id
        self.name = name
        self.avatar = avatar
        self.metadata = metadata
    }
}

extension String? {
    /// Returns the text after a change: `nil` keeps it, and an empty text removes it.
    package func changed(to new: String?) -> String? {
        guard let new else { return self }
        return new.isEmpty ? nil : new
    }
}

extension UserProfile {
    private static let longestName = 128

    /// Validates the name of a user or a conversation; an empty text removes the name.
    ///
    /// - Throws: `invalid-parameter` if the name is longer than 128 bytes, or ``DisplayText`` rejects it.
    package static func name(_ text: String) throws(ChatError) -> String {
        guard text.utf8.count <= longestName else {
            throw .invalidParameter("name", "must be at most \(longestName) bytes of UTF-8", limit: longestName)
        }
        try DisplayText.check(text, "name")
        return text
    }

    /// Validates the picture of a user or a conversation; an empty text removes the picture.
    ///
    /// - Throws: `invalid-parameter` if the text is not an `http` or `https` URL.
    package static func avatar(_ text: String) throws(ChatError) -> String {
        if !text.isEmpty { _ = try Media.url(text, parameter: "avatar") }
        return text
    }
}

/// A member of a conversation.
public struct Member: Hashable, Sendable, Identifiable {
    /// The user.
    public var id: UserID
    /// The user's role in this conversation.
    public var role: Role
    /// The member's mute in this conversation; `nil` if they may write.
    public var mute: Mute?

    /// Creates a member.
    public init(id: UserID, role: Role, mute: Mute? = nil) {
        self.id = id
        self.role = role
        self.mute = mute
    }
}
