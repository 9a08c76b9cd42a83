package import Foundation
package import ScrollbackModel

/// The messages this device has yet to hand over: in order in each conversation, one in flight there at a time, each
/// under one id until the server has answered for it.
///
/// Events go in, ``Effects`` come out. The caller stores `changed` and `removed` first and transmits then: an item that
/// may have reached the server is always known to be frozen.
package struct Outbox: Sendable {
    /// What an event led to.
    package struct Effects: Equatable, Sendable {
        /// To store, before anything is transmitted.
        package var changed: [OutboxItem] = []
        /// To delete: answered for, or cancelled.
        package var removed: [MessageID] = []
        /// To transmit, in this order.
        package var transmit: [MessageID] = []
        /// When to call ``Outbox/tick(now:)``.
        package var wakeAt: Date?

        package init() {}
    }

    /// How long a message's id is remembered, and so how long it is safe to send it again.
    package static let lifetime: TimeInterval = 180 * 24 * 60 * 60

    /// The items of each conversation, lowest ordinal first.
    var lanes: [ConversationID: [OutboxItem]] = [:]
    var conversations: [MessageID: ConversationID] = [:]
    private var lastOrdinal: Int64 = 0
    package private(set) var isConnected = false
    let backoff = Backoff()

    /// The outbox as the store kept it.
    ///
    /// What was in flight when the process ended is queued again under its id.
    package init(restoring items: some Sequence<OutboxItem> = []) {
        for var item in items {
            if item.state == .sending { item.state = .queued }
            lanes[item.conversation, default: []].append(item)
            conversations[item.id] = item.conversation
            lastOrdinal = max(lastOrdinal, item.ordinal)
        }
        for conversation in lanes.keys { lanes[conversation]?.sort { $0.ordinal < $1.ordinal } }
    }

    package var isEmpty: Bool { conversations.isEmpty }

    /// All items in the order they were queued.
    package var items: [OutboxItem] { lanes.values.joined().sorted { $0.ordinal < $1.ordinal } }

    package subscript(id: MessageID) -> OutboxItem? {
        conversations[id].flatMap { lanes[$0]?.first { $0.id == id } }
    }
}

extension Outbox {
    /// Queues a message behind those of its conversation.
    ///
    /// An id that is there already is left as it is.
    package mutating func enqueue(_ id: MessageID, in conversation: ConversationID, now: Date) -> Effects {
        var steps = Steps()
        if conversations[id] == nil {
            lastOrdinal += 1
            let item = OutboxItem(id: id, conversation: conversation, ordinal: lastOrdinal, createdAt: now)
            lanes[conversation, default: []].append(item)
            conversations[id] = conversation
            steps.touch(id)
            pump(conversation, now, &steps)
        }
        return effects(of: steps)
    }

    package mutating func connected(now: Date) -> Effects {
        isConnected = true
        return tick(now: now)
    }

    /// The outcome of everything in flight is unknown: it is queued again, each item under its id.
    package mutating func disconnected() -> Effects {
        isConnected = false
        var steps = Steps()
        for item in items where item.state == .sending {
            update(item.id, &steps) { $0.state = .queued }
        }
        return effects(of: steps)
    }

    /// Time has passed.
    package mutating func tick(now: Date) -> Effects {
        var steps = Steps()
        for conversation in lanesInOrder { pump(conversation, now, &steps) }
        return effects(of: steps)
    }

    private var lanesInOrder: [ConversationID] {
        lanes.values.compactMap(\.first).sorted { $0.ordinal < $1.ordinal }.map(\.conversation)
    }
}
