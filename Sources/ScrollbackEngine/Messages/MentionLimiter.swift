import Foundation
import ScrollbackModel
import Synchronization

/// The rate limit for mentions of everyone: a token bucket for each user and conversation.
///
/// Each of these messages notifies all members, including those who muted other messages. Administrators are exempt.
package final class MentionLimiter: Sendable {
    package let perHour: Double
    package let burst: Double
    private let state = Mutex(State())

    private struct Key: Hashable {
        var user: UserID
        var conversation: ConversationID
    }

    private struct State {
        var buckets = Buckets<Key, TokenBucket>(pruningThreshold: 100_000)
        var refusals = 0
    }

    package init(perHour: Double = 20, burst: Double = 5) {
        self.perHour = perHour
        self.burst = burst
    }

    /// The number of refused messages and edits since the start.
    package var refusals: Int { state.withLock { $0.refusals } }

    /// Takes a token for one message that mentions everyone.
    ///
    /// - Throws: `rate-limited` with the time to wait, if the bucket is empty.
    func take(_ user: UserID, in conversation: ConversationID, now: Date) throws(ChatError) {
        let wait: TimeInterval? = state.withLock { state in
            let key = Key(user: user, conversation: conversation)
            let new = TokenBucket(perSecond: perHour / 3600, burst: burst)
            let wait: TimeInterval? = state.buckets.change(key, default: new, now: now) { bucket in
                bucket.take(now: now) ? nil : bucket.wait
            }
            if wait != nil { state.refusals += 1 }
            return wait
        }
        guard let wait else { return }
        throw ChatError(
            .rateLimited,
            "You can mention everyone in \(conversation) at most \(Int(perHour)) times per hour. "
                + "Mention single members instead, or wait.",
            parameter: "mentions", limit: Int(perHour), retryAfter: wait)
    }
}

extension Transaction {
    /// Checks that a sender may mention everyone now.
    ///
    /// - Parameters:
    ///   - role: The sender's role.
    ///   - limiter: The rate limit; `nil` for no limit.
    /// - Throws: `forbidden`, `rate-limited`.
    func checkMentionOfEveryone(
        by sender: Caller, role: Role?, in id: ConversationID, permissions: Permissions, _ limiter: MentionLimiter?
    ) throws(ChatError) {
        try permissions.require(
            .mentionEveryone, in: id, as: role, by: sender, to: "mention everyone", parameter: "mentions")
        if !sender.isAdmin { try limiter?.take(sender.user, in: id, now: now.date) }
    }
}
