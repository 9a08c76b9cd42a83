public import Foundation

/// The online status of a user.
public struct Presence: Hashable, Sendable {
    /// Whether the app is in the foreground on one of the user's devices.
    ///
    /// It is always `false` for users who don't share their presence.
    public var isOnline: Bool
    /// The date when the user was last online, in seconds; `nil` if they are online or nothing is known.
    public var lastSeen: Date?

    /// Creates a status.
    public init(isOnline: Bool, lastSeen: Date? = nil) {
        self.isOnline = isOnline
        self.lastSeen = lastSeen
    }
}
