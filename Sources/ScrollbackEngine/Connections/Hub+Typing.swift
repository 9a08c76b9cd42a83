import Foundation
import ScrollbackModel
import ScrollbackWire
import Synchronization

extension Hub {
    /// Sends a typing indicator to the subscribers of a conversation, unless its rate limit is exceeded.
    ///
    /// - Returns: Whether the rate limit allowed it.
    func sendTypingIndicator(
        in id: ConversationID, of user: UserID, isTyping: Bool, except excluded: Set<UserID>, now: Date
    ) -> Bool {
        guard typing.take(id, now: now) else { return false }
        guard let audience = audience(of: id) else { return true }
        let names = id.namedUsers
        guard !names.isEmpty else {
            audience.deliver(ServerEvent.typing(id, user, isTyping: isTyping).encoded(), excluding: excluded)
            return true
        }
        for peer in names where !excluded.contains(peer) {
            let event = ServerEvent.typing(id.relative(to: peer), user, isTyping: isTyping)
            audience.deliver(event.encoded(), to: peer, except: nil)
        }
        return true
    }
}

/// The rate limit for typing indicators per conversation.
///
/// With many typing users, indicators are of little use, and each is sent to all subscribers.
final class TypingRateLimiter: Sendable {
    static let perSecond = 5.0
    static let burst = 10.0
    private let buckets = Mutex(Buckets<ConversationID, TokenBucket>(pruningThreshold: 10_000))

    /// Returns whether another indicator can be sent.
    func take(_ id: ConversationID, now: Date) -> Bool {
        buckets.withLock { buckets in
            buckets.change(id, default: TokenBucket(perSecond: Self.perSecond, burst: Self.burst), now: now) {
                $0.take(now: now)
            }
        }
    }
}
