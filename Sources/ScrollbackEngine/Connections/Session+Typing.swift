import Foundation
import ScrollbackModel
import Synchronization

/// Limits the typing indicators of one connection.
///
/// The start of typing is sent at most once a second per conversation, and its end once per start.
struct TypingThrottle {
    private struct Signal {
        var begun: Date
        var isTyping: Bool
    }

    private var signals: [ConversationID: Signal] = [:]
    private static let interval: TimeInterval = 1
    private static let maximumConversations = 100

    /// Returns whether a typing indicator is to be sent.
    mutating func take(_ id: ConversationID, isTyping: Bool, now: Date) -> Bool {
        let last = signals[id]
        guard isTyping else {
            signals[id]?.isTyping = false
            return last?.isTyping ?? false
        }
        if let last, now.timeIntervalSince(last.begun) < Self.interval, now >= last.begun { return false }
        if signals.count >= Self.maximumConversations {
            signals = signals.filter { now.timeIntervalSince($0.value.begun) < Self.interval }
        }
        guard signals.count < Self.maximumConversations else { return false }
        signals[id] = Signal(begun: now, isTyping: true)
        return true
    }
}

extension Session {
    /// Sends a typing indicator, unless the rate limit is exceeded.
    ///
    /// Indicators over the limit are dropped without an error, because the client needs no answer.
    func typing(in id: ConversationID, isTyping: Bool, _ caller: Caller, _ engine: Engine) throws {
        let now = engine.clock()
        let name = id.logID.absolute(for: caller.user)
        guard state.withLock({ $0.typing.take(name, isTyping: isTyping, now: now) }) else { return }
        try engine.signalTyping(in: id, isTyping: isTyping, by: caller)
    }
}
