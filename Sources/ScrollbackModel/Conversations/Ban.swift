public import Foundation

/// A ban of a user from a conversation or from the whole server.
public struct Ban: Hashable, Sendable, Identifiable {
    /// The banned user.
    public var id: UserID
    /// The date when the ban ends; `nil` if it lasts until a moderator revokes it.
    public var until: Date?
    /// The reason, at most 500 bytes of UTF-8.
    ///
    /// The server sends the reason to the banned user.
    public var reason: String?
    /// The user who issued the ban.
    public var by: UserID
    /// The date when the ban was issued.
    public var at: Date

    /// Creates a ban.
    public init(id: UserID, until: Date? = nil, reason: String? = nil, by: UserID, at: Date) {
        self.id = id
        self.until = until
        self.reason = reason
        self.by = by
        self.at = at
    }

    /// Returns whether the ban is in force at `now`.
    public func isActive(at now: Date) -> Bool { until.map { now < $0 } ?? true }

    /// The maximum length of a reason in bytes.
    package static let reasonBytes = 500
    /// The longest a ban that ends may last, in seconds: ten years.
    package static let longestLifetime: TimeInterval = 315_360_000
}
