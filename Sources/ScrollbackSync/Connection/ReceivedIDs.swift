package import Foundation
package import ScrollbackModel

/// The IDs of transient messages received within the last ten minutes.
///
/// A sender without an answer sends such a message again. The client uses the IDs to deliver it only once.
package struct ReceivedIDs: Sendable {
    /// The time in seconds for which an ID is remembered.
    package static let retention: TimeInterval = 600

    private var receivedIDs: Set<MessageID> = []
    private var order: [(id: MessageID, time: Date)] = []
    private var expiredCount = 0

    package init() {}

    /// Returns whether the ID was not received before, and records it.
    package mutating func isNew(_ id: MessageID, now: Date) -> Bool {
        while expiredCount < order.count, now.timeIntervalSince(order[expiredCount].time) > Self.retention {
            receivedIDs.remove(order[expiredCount].id)
            expiredCount += 1
        }
        if expiredCount > order.count / 2 {
            order.removeFirst(expiredCount)
            expiredCount = 0
        }
        guard receivedIDs.insert(id).inserted else { return false }
        order.append((id, now))
        return true
    }
}
