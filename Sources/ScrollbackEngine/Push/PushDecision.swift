package import ScrollbackModel

/// Whether a message is pushed to a user, or the reason why not.
package enum PushDecision: Hashable, Sendable {
    case push
    /// The user sent the message.
    case own
    /// The user has the app open.
    case here
    /// The user can't see the message: they joined later, left, or hid it.
    case invisible
    /// The message was recalled or deleted.
    case gone
    /// The user has read the message, or it never counted as unread for them.
    case read
    case blocked
    /// The user's notification level or quiet hours exclude the message.
    case level
    /// The user is banned, deactivated or erased.
    case shutOut

    /// The facts that the decision is based on.
    package struct Facts: Hashable, Sendable {
        package var isOwn = false
        package var isAway = true
        package var isVisible = true
        package var isGone = false
        package var isRead = false
        package var hasBlockedSender = false
        package var isShutOut = false
        package var isMentioned = false
        package var level = NotificationLevel.all

        package init() {}
    }

    package init(_ facts: Facts) {
        let reasons: [(Bool, PushDecision)] = [
            (facts.isOwn, .own), (facts.isShutOut, .shutOut), (!facts.isVisible, .invisible), (facts.isGone, .gone),
            (facts.isRead, .read), (facts.hasBlockedSender, .blocked),
            (!facts.level.allows(mention: facts.isMentioned), .level), (!facts.isAway, .here),
        ]
        self = reasons.first(where: \.0)?.1 ?? .push
    }
}
