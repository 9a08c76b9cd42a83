import Foundation
import ScrollbackModel
import Synchronization

/// The rate limit for mentions of everyone: a token bucket for each user and conversation.
///
/// Each of these messages notifies all members, including those who muted other messages. Administrators are exempt.
package final class MentionLimiter: Sendable {
    package let perHour: Double
    package let burst: Double
    private let buckets = Mutex(Buckets<Key, TokenBucket>(pruningThreshold: 100_000))

    private struct Key: Hashable {
        var user: UserID
        var conversation: ConversationID
    }

    package init(perHour: Double = 20, burst: Double = 5) {
        self.perHour = perHour
        self.burst = burst
    }

    /// Takes a token for one message that mentions everyone.
    ///
    /// - Throws: `rate-limited` with the time to wait, if the bucket is empty.
    func take(_ user: UserID, in conversation: ConversationID, now: Date) throws(ChatError) {
        let refusal: ChatError? = buckets.withLock { buckets in
            let new = TokenBucket(perSecond: perHour / 3600, burst: burst)
            return buckets.change(Key(user: user, conversation: conversation), default: new, now: now) { bucket in
                guard !bucket.take(now: now) else { return nil }
                return ChatError(
                    .rateLimited,
                    "You can mention everyone in \(conversation) at most \(Int(perHour)) times per hour. "
                        + "Mention single members instead, or wait.",
                    parameter: "mentions", limit: Int(perHour), retryAfter: bucket.wait)
            }
        }
        if let refusal { throw refusal }
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
        guard permissions[.mentionEveryone, id.kind].isMet(by: role, isAdmin: sender.isAdmin) else {
            throw ChatError(.forbidden, "You need permission to mention everyone in \(id).", parameter: "mentions")
        }
        if !sender.isAdmin { try limiter?.take(sender.user, in: id, now: now.date) }
    }
}
