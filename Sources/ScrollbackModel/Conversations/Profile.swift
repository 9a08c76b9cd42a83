/// What others see of a user.
public struct UserProfile: Hashable, Sendable, Identifiable {
    /// Whose profile it is.
    public var id: UserID
    /// At most 128 bytes of UTF-8.
    public var name: String?
    /// A URL of a picture, at most 2,048 bytes of UTF-8.
    public var avatar: String?
    /// The application's own, a JSON object of at most 32 KiB that travels byte for byte.
    public var metadata: RawJSON?

    /// A profile with all that is known of it.
    public init(id: UserID, name: String? = nil, avatar: String? = nil, metadata: RawJSON? = nil) {
        self.id = id
        self.name = name
        self.avatar = avatar
        self.metadata = metadata
    }
}

/// A member of a conversation.
public struct Member: Hashable, Sendable, Identifiable {
    /// Who it is.
    public var id: UserID
    /// What they may do in this conversation; somebody else elsewhere.
    public var role: Role
    /// For how long they may not write there; absent where they may.
    public var mute: Mute?

    /// A member with their role.
    public init(id: UserID, role: Role, mute: Mute? = nil) {
        self.id = id
        self.role = role
        self.mute = mute
    }
}
