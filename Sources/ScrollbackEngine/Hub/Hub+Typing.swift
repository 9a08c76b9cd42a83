import Foundation
import ScrollbackModel
import ScrollbackWire
import Synchronization

extension Hub {
    /// Tells who hears a conversation that somebody writes there, unless it was told too much of that already.
    func tellTyping(
        in id: ConversationID, of user: UserID, isTyping: Bool, except deaf: Set<UserID>, now: Date
    ) {
        guard typing.take(id, now: now), let audience = audience(of: id) else { return }
        let names = id.namedUsers
        guard !names.isEmpty else {
            return audience.deliver(
                ServerEvent.typing(id, user, isTyping: isTyping).encoded(), exceptOf: deaf)
        }
        for peer in names where !deaf.contains(peer) {
            let event = ServerEvent.typing(id.relative(to: peer), user, isTyping: isTyping)
            audience.deliver(event.encoded(), to: peer, except: nil)
        }
    }
}

/// How many typing signals each conversation passes on: in a crowd nobody can tell who of many is typing, and every signal
/// goes to everybody.
final class TypingPace: Sendable {
    static let perSecond = 5.0
    static let burst = 10.0
    private let buckets = Mutex(Buckets<ConversationID, TokenBucket>(most: 10_000))

    /// - Returns: whether one more is passed on.
    func take(_ id: ConversationID, now: Date) -> Bool {
        buckets.withLock { buckets in
            buckets.change(id, orNew: TokenBucket(perSecond: Self.perSecond, burst: Self.burst), now: now) {
                $0.take(now: now)
            }
        }
    }
}
