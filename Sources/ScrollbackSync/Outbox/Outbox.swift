package import Foundation
package import ScrollbackModel

/// The state machine for messages and changes that the server has not acknowledged yet.
///
/// Each conversation has a queue, in which items are sent in order and one at a time. An item keeps its ID until the
/// server answers, and messages respect the send rate.
///
/// The files of a message are uploaded first. Several uploads run at a time, in the order the messages were queued,
/// regardless of earlier items in the queue.
///
/// The input is events and the output is ``Effects``. The caller must store `changed` and `removed` before it transmits
/// anything. An item that may have reached the server is therefore always stored as transmitted
/// (``OutboxItem/wasTransmitted``).
package struct Outbox: Sendable {
    /// The effects of an event.
    package struct Effects: Equatable, Sendable {
        /// The items to store before anything is transmitted.
        package var changed: [OutboxItem] = []
        /// The items to delete because they were answered or cancelled.
        package var removed: [MessageID] = []
        /// The items whose uploads start.
        package var upload: [MessageID] = []
        /// The items whose uploads must be stopped because they were cancelled.
        package var stopUpload: [MessageID] = []
        /// The items to transmit, in this order.
        package var transmit: [MessageID] = []
        /// The time to call ``Outbox/tick(now:)``.
        package var wakeAt: Date?

        package init() {}
    }

    /// The time for which the server remembers an ID, and for which sending it again is safe.
    package static let lifetime: TimeInterval = 180 * 24 * 60 * 60

    /// The minimum time between two repeated uploads of the same files.
    package static let minimumReuploadInterval: TimeInterval = 60 * 60

    /// The maximum number of items that upload at the same time.
    package static let maximumUploads = 3

    /// The items of each conversation, in ascending order of their ordinals.
    var queues: [ConversationID: [OutboxItem]] = [:]
    var conversations: [MessageID: ConversationID] = [:]
    private var lastOrdinal: Int64 = 0
    package private(set) var isConnected = false
    let backoff = Backoff()
    /// The items whose files are not uploaded yet.
    var awaitingUpload: Set<MessageID> = []
    /// The items whose uploads began before the server accepted a change of their conversation.
    ///
    /// The server may have refused such an upload before it created the conversation.
    var uploadsBeforeChange: Set<MessageID> = []
    /// The times when lost files were uploaded again.
    var reuploadedAt: [MessageID: Date] = [:]
    /// The token bucket of the send rate; `nil` for no limit.
    var pace: TokenBucket?
    /// Whether the send rate delays a message.
    var isThrottled = false
    /// The token bucket for accepting messages, if messages above the send rate fail.
    private var acceptance: TokenBucket?

    /// Creates an outbox from stored items.
    ///
    /// Items that were in flight when the process ended are queued again with the same ID.
    package init(restoring items: some Sequence<OutboxItem> = [], pace: SendPace? = nil) {
        self.pace = pace.map { TokenBucket(perSecond: $0.perSecond, burst: Double($0.burst)) }
        if pace?.excess == .fails { acceptance = self.pace }
        for item in items { adopt(item) }
        for conversation in queues.keys { queues[conversation]?.sort { $0.ordinal < $1.ordinal } }
    }

    private mutating func adopt(_ item: OutboxItem) {
        var item = item
        if item.state == .sending || item.state == .uploading { item.state = .queued }
        if item.needsUpload { awaitingUpload.insert(item.id) }
        queues[item.conversation, default: []].append(item)
        conversations[item.id] = item.conversation
        lastOrdinal = max(lastOrdinal, item.ordinal)
    }

    /// Restores a removed item that is still in the store, in its original order.
    package mutating func restore(_ item: OutboxItem) {
        guard conversations[item.id] == nil else { return }
        adopt(item)
        queues[item.conversation]?.sort { $0.ordinal < $1.ordinal }
    }

    package var isEmpty: Bool { conversations.isEmpty }

    /// All items in the order they were queued.
    package var items: [OutboxItem] { queues.values.joined().sorted { $0.ordinal < $1.ordinal } }

    package subscript(id: MessageID) -> OutboxItem? {
        conversations[id].flatMap { queues[$0]?.first { $0.id == id } }
    }
}

extension Outbox {
    /// Queues an item at the end of its conversation's queue.
    ///
    /// An ID that is already queued is ignored.
    ///
    /// - Parameters:
    ///   - isMessage: Whether the item sends a message, so that the send rate applies to it.
    ///   - needsUpload: Whether the item has files to upload first.
    package mutating func enqueue(
        _ id: MessageID, in conversation: ConversationID, isMessage: Bool = true, needsUpload: Bool = false, now: Date
    ) -> Effects {
        var steps = Steps()
        if conversations[id] == nil {
            lastOrdinal += 1
            var item = OutboxItem(
                id: id, conversation: conversation, ordinal: lastOrdinal, createdAt: now, isMessage: isMessage,
                needsUpload: needsUpload)
            if isMessage, let refusal = refusal(now) { item.state = .failed(refusal) }
            queues[conversation, default: []].append(item)
            conversations[id] = conversation
            if needsUpload { awaitingUpload.insert(id) }
            steps.touch(id)
            pump(conversation, now, &steps)
        }
        return effects(of: steps)
    }

    /// Queues a stored item in its original order, with its stored state.
    package mutating func requeue(_ item: OutboxItem, now: Date) -> Effects {
        restore(item)
        var steps = Steps()
        steps.touch(item.id)
        pump(item.conversation, now, &steps)
        return effects(of: steps)
    }

    /// Returns the error for a message above the send rate if such messages fail.
    private mutating func refusal(_ now: Date) -> ChatError? {
        guard acceptance?.take(now: now) == false, let acceptance else { return nil }
        return ChatError(
            .rateLimited, "The limit is \(acceptance.perSecond) messages per second.", limit: Int(acceptance.perSecond),
            retryAfter: acceptance.wait)
    }

    package mutating func connected(now: Date) -> Effects {
        isConnected = true
        var steps = Steps()
        // Failed uploads are retried now, since the connection was probably the cause. Messages keep the server's
        // delay.
        for id in awaitingUpload.sorted() where self[id]?.isWaiting == true {
            update(id, &steps) { $0.state = .queued }
        }
        pumpAll(now, &steps)
        return effects(of: steps)
    }

    /// Queues all items in flight again with the same IDs, because their outcome is unknown.
    package mutating func disconnected() -> Effects {
        isConnected = false
        var steps = Steps()
        for item in items where item.state == .sending {
            update(item.id, &steps) { $0.state = .queued }
        }
        return effects(of: steps)
    }

    /// Handles the passing of time.
    package mutating func tick(now: Date) -> Effects {
        var steps = Steps()
        pumpAll(now, &steps)
        return effects(of: steps)
    }

    mutating func pumpAll(_ now: Date, _ steps: inout Steps) {
        isThrottled = false
        for conversation in queuesInOrder { pumpQueue(conversation, now, &steps) }
        pumpUploads(now, &steps)
    }

    private var queuesInOrder: [ConversationID] {
        queues.values.compactMap { queue in queue.first { !$0.isFailed } }.sorted { $0.ordinal < $1.ordinal }.map(
            \.conversation)
    }
}
