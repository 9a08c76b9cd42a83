/// The public profile of a user.
public struct UserProfile: Hashable, Sendable, Identifiable {
    /// The user.
    public var id: UserID
    /// The display name, at most 128 bytes of UTF-8.
    public var name: String?
    /// The URL of the picture, at most 2,048 bytes of UTF-8.
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
