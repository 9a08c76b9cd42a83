public import Foundation

/// That somebody may not be in a conversation, or on the server at all.
public struct Ban: Hashable, Sendable, Identifiable {
    /// Who is banned.
    public var id: UserID
    /// When it ends; absent where it lasts until somebody takes it back.
    public var until: Date?
    /// Why, at most 500 bytes of UTF-8: who is banned is told it.
    public var reason: String?
    /// Who said so.
    public var by: UserID
    /// Since when.
    public var at: Date

    /// A ban with all that is known of it.
    public init(id: UserID, until: Date? = nil, reason: String? = nil, by: UserID, at: Date) {
        self.id = id
        self.until = until
        self.reason = reason
        self.by = by
        self.at = at
    }

    /// Whether it holds at a time.
    public func holds(at now: Date) -> Bool { until.map { now < $0 } ?? true }

    /// The most bytes of a reason.
    package static let reasonBytes = 500
}
