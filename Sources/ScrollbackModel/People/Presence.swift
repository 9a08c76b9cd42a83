public import Foundation

/// Whether somebody is there.
public struct Presence: Hashable, Sendable {
    /// Whether the app is in front of them on one of their devices; who does not share it never is.
    public var isOnline: Bool
    /// When they were there last, to the second; absent while they are, and where nothing is known.
    public var lastSeen: Date?

    /// Whether somebody is there, and when they were.
    public init(isOnline: Bool, lastSeen: Date? = nil) {
        self.isOnline = isOnline
        self.lastSeen = lastSeen
    }
}
