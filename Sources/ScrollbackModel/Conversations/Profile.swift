/// What others see of a user.
public struct UserProfile: Hashable, Sendable, Identifiable {
    public var id: UserID
    /// At most 128 bytes of UTF-8.
    public var name: String?
    /// A URL of a picture.
    public var avatar: String?
    /// The application's own, a JSON object that travels byte for byte.
    public var metadata: RawJSON?

    public init(id: UserID, name: String? = nil, avatar: String? = nil, metadata: RawJSON? = nil) {
        self.id = id
        self.name = name
        self.avatar = avatar
        self.metadata = metadata
    }
}

/// A member of a conversation.
public struct Member: Hashable, Sendable, Identifiable {
    public var id: UserID
    public var role: Role

    public init(id: UserID, role: Role) {
        self.id = id
        self.role = role
    }
}
