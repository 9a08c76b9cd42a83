package import Foundation
package import ScrollbackModel

/// Ids of messages that take no place in the log, heard within the last ten minutes: a sender that got no answer sends
/// such a message again, and nobody is to hear it twice.
package struct HeardIDs: Sendable {
    /// How long an id is remembered, in seconds.
    package static let memory: TimeInterval = 600

    private var heard: Set<MessageID> = []
    private var order: [(id: MessageID, time: Date)] = []
    private var forgotten = 0

    package init() {}

    /// Whether the id was not heard before; it is from now on.
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
