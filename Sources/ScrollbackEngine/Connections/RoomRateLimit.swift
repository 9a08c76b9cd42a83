import Foundation
import ScrollbackModel
import Synchronization

/// The rate limit of a room's messages; low-priority messages are dropped first, high-priority messages never.
struct RoomRateLimit: Bucket {
    let perSecond: Double
    private var tokens: Double
    private var filledAt: Date?

    init(perSecond: Double) {
        self.perSecond = perSecond
        tokens = perSecond
    }

    /// Returns whether a message is delivered.
    ///
    /// High-priority messages use up tokens but are always delivered. Low-priority messages need half a second's worth
    /// of tokens, which stays available for the others.
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

/// The rate limits of all rooms, and the heads of rooms with undelivered messages.
final class RoomRateLimits: Sendable {
    private let state = Mutex(State())
    /// The number of messages that were not delivered live, since the start.
    let skippedCount = Atomic<Int>(0)

    private struct State {
        var perSecond = Double(ServerSettings.defaultRoomMessagesPerSecond)
        var buckets = Buckets<ConversationID, RoomRateLimit>(pruningThreshold: 10_000)
        var pendingHeads: [ConversationID: HeadAnnouncement] = [:]

        mutating func admits(_ id: ConversationID, _ priority: MessagePriority, now: Date) -> Bool {
            buckets.change(id, default: RoomRateLimit(perSecond: perSecond), now: now) { $0.admits(priority, now: now) }
        }
    }

    func setRateLimit(_ perSecond: Int) {
        state.withLock { state in
            state.perSecond = Double(perSecond)
            state.buckets.removeAll()
        }
    }

    /// Returns whether a message is delivered; if not, subscribers soon receive the room's head.
    func admit(_ message: Message, now: Date) -> Bool {
        let id = message.conversation
        return state.withLock { state in
            // A later message does not contain skipped changes, so their revision stays until it is announced.
            let rev = state.pendingHeads[id]?.rev ?? 0
            var head = HeadAnnouncement(message).withoutMessage
            head.rev = max(head.rev, rev)
            let isAdmitted = state.admits(id, message.attributes.priority, now: now)
            if !isAdmitted { count() }
            state.pendingHeads[id] = isAdmitted && rev == 0 ? nil : head
            return isAdmitted
        }
    }

    /// Returns whether something other than a new stored message is delivered.
    ///
    /// - Parameter head: The head that subscribers receive soon if it is not delivered.
    func admit(_ id: ConversationID, _ priority: MessagePriority, orElse head: HeadAnnouncement?, now: Date) -> Bool {
        state.withLock { state in
            let isAdmitted = state.admits(id, priority, now: now)
            if !isAdmitted {
                count()
                if let head { state.pendingHeads[id] = head }
            }
            return isAdmitted
        }
    }

    private func count() { skippedCount.wrappingAdd(1, ordering: .relaxed) }

    /// Returns the rooms with undelivered heads, and clears the list.
    func takePendingHeads() -> [ConversationID: HeadAnnouncement] {
        state.withLock { state in
            defer { state.pendingHeads = [:] }
            return state.pendingHeads
        }
    }
}
