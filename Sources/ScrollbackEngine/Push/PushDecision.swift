package import ScrollbackModel

/// Whether somebody is pushed a message, and why not.
package enum PushDecision: Hashable, Sendable {
    case push
    /// It is their own.
    case own
    /// They look at their app.
    case here
    /// They can't see it: they came later, left, or took it out of their view.
    case invisible
    /// It was recalled or deleted meanwhile.
    case gone
    /// They have read it meanwhile, or it never counted for them.
    case read
    case blocked
    /// Less than that is pushed to them there, or now.
    case level
    /// They may not come in.
    case shutOut

    /// What is looked at.
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
