package import Foundation
package import ScrollbackModel

/// The IDs of transient messages received within the last ten minutes.
///
/// A sender without an answer sends such a message again. The client uses the IDs to deliver it only once.
package struct HeardIDs: Sendable {
    /// The time in seconds for which an ID is remembered.
    package static let memory: TimeInterval = 600

    private var heard: Set<MessageID> = []
    private var order: [(id: MessageID, time: Date)] = []
    private var forgotten = 0

    package init() {}

    /// Returns whether the ID was not received before, and records it.
    package mutating func isNew(_ id: MessageID, now: Date) -> Bool {
        while forgotten < order.count, now.timeIntervalSince(order[forgotten].time) > Self.memory {
            heard.remove(order[forgotten].id)
            forgotten += 1
        }
        if forgotten > order.count / 2 {
            order.removeFirst(forgotten)
            forgotten = 0
        }
        guard heard.insert(id).inserted else { return false }
        order.append((id, now))
        return true
    }
}
