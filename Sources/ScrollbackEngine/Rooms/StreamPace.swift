import Foundation
import ScrollbackModel
import Synchronization

/// Which messages of a room are streamed: so many a second, what is low first to go and what is high never.
struct StreamPace {
    private var tokens: Double
    private var filledAt: Date?

    init(perSecond: Double) {
        tokens = perSecond
    }

    /// A message that is high takes its part of the pace and is streamed in any case; one that is low leaves half a second's
    /// worth to the others.
    mutating func admits(_ priority: MessagePriority, perSecond: Double, now: Date) -> Bool {
        let seconds = filledAt.map { max(0, now.timeIntervalSince($0)) } ?? 0
        filledAt = now
        tokens = min(perSecond, tokens + seconds * perSecond)
        let needed: Double =
            switch priority {
            case .low: max(1, perSecond / 2)
            case .normal: 1
            case .high: -.infinity
            }
        guard tokens >= needed else { return false }
        tokens = max(0, tokens - 1)
        return true
    }

    /// Whether it will have filled up by a time, and so needs no remembering.
    func isFull(at now: Date, perSecond: Double) -> Bool {
        filledAt.map { tokens + now.timeIntervalSince($0) * perSecond >= perSecond } ?? true
    }
}

/// The paces of all rooms, and where those stand that have left something out since they streamed last.
final class RoomStreams: Sendable {
    private let state = Mutex(State())
    /// Messages that were stored and not streamed, since the start.
    let leftOut = Atomic<Int>(0)

    private struct State {
        var perSecond = Double(ServerSettings.standardRoomPace)
        var paces: [ConversationID: StreamPace] = [:]
        var prunedAt = Date.distantPast
        var behind: [ConversationID: LogMark] = [:]
    }

    private static let mostPaces = 10_000

    func setPace(_ perSecond: Int) {
        state.withLock { state in
            state.perSecond = Double(perSecond)
            state.paces = [:]
        }
    }

    /// - Returns: whether a message is streamed; if not, whoever hears the room is told soon where it stands.
    func admit(_ message: Message, now: Date) -> Bool {
        let isStreamed = state.withLock { state in
            let perSecond = state.perSecond
            // Full ones need no remembering; once a second, and not at every message.
            if state.paces.count > Self.mostPaces, abs(now.timeIntervalSince(state.prunedAt)) >= 1 {
                state.prunedAt = now
                state.paces = state.paces.filter { !$0.value.isFull(at: now, perSecond: perSecond) }
            }
            let isAdmitted = state.paces[message.conversation, default: StreamPace(perSecond: perSecond)]
                .admits(message.attributes.priority, perSecond: perSecond, now: now)
            state.behind[message.conversation] = isAdmitted ? nil : LogMark(message)
            return isAdmitted
        }
        if !isStreamed { leftOut.wrappingAdd(1, ordering: .relaxed) }
        return isStreamed
    }

    /// The rooms whose newest messages were not streamed; they are given once.
    func takeBehind() -> [ConversationID: LogMark] {
        state.withLock { state in
            defer { state.behind = [:] }
            return state.behind
        }
    }
}
