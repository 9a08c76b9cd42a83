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
    private static let mostBuckets = 10_000
    private let state = Mutex<(buckets: [ConversationID: TokenBucket], prunedAt: Date)>(([:], .distantPast))

    /// - Returns: whether one more is passed on.
    func take(_ id: ConversationID, now: Date) -> Bool {
        state.withLock { state in
            // Full ones need no remembering; once a second, and not at every signal.
            if state.buckets.count > Self.mostBuckets, abs(now.timeIntervalSince(state.prunedAt)) >= 1 {
                state.buckets = state.buckets.filter { !$0.value.isFull(at: now) }
                state.prunedAt = now
            }
            return state.buckets[id, default: TokenBucket(perSecond: Self.perSecond, burst: Self.burst)].take(now: now)
        }
    }
}
