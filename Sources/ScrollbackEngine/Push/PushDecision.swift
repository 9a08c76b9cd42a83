package import ScrollbackModel

/// Whether a message is pushed to a user, or the reason why not.
package enum PushDecision: Hashable, Sendable {
    case push
    /// The user sent the message.
    case ownMessage
    /// The user has the app open.
    case inForeground
    /// The user can't see the message: they joined later, left, or hid it.
    case invisible
    /// The message was recalled or deleted.
    case deleted
    /// The user has read the message, or it never counted as unread for them.
    case read
    case blocked
    /// The user's notification level or quiet hours exclude the message.
    case level
    /// The user is banned, deactivated or erased.
    case accessRevoked

    /// The facts that the decision is based on.
    package struct Facts: Hashable, Sendable {
        package var isOwn = false
        package var isAway = true
        package var isVisible = true
        package var isDeleted = false
        package var isRead = false
        package var hasBlockedSender = false
        package var isAccessRevoked = false
        package var isMentioned = false
        package var level = NotificationLevel.all

        package init() {}
    }

    package init(_ facts: Facts) {
        let reasons: [(Bool, PushDecision)] = [
            (facts.isOwn, .ownMessage), (facts.isAccessRevoked, .accessRevoked), (!facts.isVisible, .invisible),
            (facts.isDeleted, .deleted),
            (facts.isRead, .read), (facts.hasBlockedSender, .blocked),
            (!facts.level.allows(mention: facts.isMentioned), .level), (!facts.isAway, .inForeground),
        ]
        self = reasons.first(where: \.0)?.1 ?? .push
    }
}
