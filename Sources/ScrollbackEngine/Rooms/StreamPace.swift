import Foundation
import ScrollbackModel
import Synchronization

/// Which messages of a room are streamed: so many a second, what is low first to go and what is high never.
struct StreamPace: Bucket {
    let perSecond: Double
    private var tokens: Double
    private var filledAt: Date?

    init(perSecond: Double) {
        self.perSecond = perSecond
        tokens = perSecond
    }

    /// A message that is high takes its part of the pace and is streamed in any case; one that is low leaves half a second's
    /// worth to the others.
    mutating func admits(_ priority: MessagePriority, now: Date) -> Bool {
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

    func isFull(at now: Date) -> Bool {
        filledAt.map { tokens + now.timeIntervalSince($0) * perSecond >= perSecond } ?? true
    }
}

/// The paces of all rooms, and where those stand that have left something out since they streamed last.
final class RoomStreams: Sendable {
    private let state = Mutex(State())
    /// What was said in rooms and not streamed, since the start.
    let leftOut = Atomic<Int>(0)

    private struct State {
        var perSecond = Double(ServerSettings.standardRoomPace)
        var paces = Buckets<ConversationID, StreamPace>(most: 10_000)
        var behind: [ConversationID: LogMark] = [:]

        mutating func admits(_ id: ConversationID, _ priority: MessagePriority, now: Date) -> Bool {
            paces.change(id, orNew: StreamPace(perSecond: perSecond), now: now) { $0.admits(priority, now: now) }
        }
    }

    func setPace(_ perSecond: Int) {
        state.withLock { state in
            state.perSecond = Double(perSecond)
            state.paces.forget()
        }
    }

    /// - Returns: whether a message is streamed; if not, whoever hears the room is told soon where it stands.
    func admit(_ message: Message, now: Date) -> Bool {
        let id = message.conversation
        return state.withLock { state in
            // Of changes that were left out no message tells.
            let rev = state.behind[id]?.rev ?? 0
            var mark = LogMark(message).bare
            mark.rev = max(mark.rev, rev)
            let isAdmitted = state.admits(id, message.attributes.priority, now: now)
            if !isAdmitted { count() }
            state.behind[id] = isAdmitted && rev == 0 ? nil : mark
            return isAdmitted
        }
    }

    /// - Parameter mark: where the room stands, of what it is told soon if that is not streamed.
    /// - Returns: whether something is streamed that is no new message of its log.
    func admit(_ id: ConversationID, _ priority: MessagePriority, orElse mark: LogMark?, now: Date) -> Bool {
        state.withLock { state in
            let isAdmitted = state.admits(id, priority, now: now)
            if !isAdmitted {
                count()
                if let mark { state.behind[id] = mark }
            }
            return isAdmitted
        }
    }

    private func count() { leftOut.wrappingAdd(1, ordering: .relaxed) }

    /// The rooms that were not told all of where they stand; they are given once.
    func takeBehind() -> [ConversationID: LogMark] {
        state.withLock { state in
            defer { state.behind = [:] }
            return state.behind
        }
    }
}
