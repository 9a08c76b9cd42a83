package import Foundation
package import ScrollbackModel

/// A stored user.
package struct UserRow: Hashable, Sendable {
    package var profile: UserProfile
    /// The user's change counter, which increases with changes of their own state, such as joining, leaving or reading.
    package var rev: Int64
    /// The time at or before which issued tokens are refused.
    package var revokedAt: Date?
    package var state: UserState
    /// Whether the user may be banned from the server.
    package var isBanned: Bool
    /// Whether other users may only invite the user, and not add them to conversations.
    package var isInvitationOnly: Bool

    package init(
        profile: UserProfile, rev: Int64 = 0, revokedAt: Date? = nil, state: UserState = .active,
        isBanned: Bool = false, isInvitationOnly: Bool = false
    ) {
        self.profile = profile
        self.rev = rev
        self.revokedAt = revokedAt
        self.state = state
        self.isBanned = isBanned
        self.isInvitationOnly = isInvitationOnly
    }
}
