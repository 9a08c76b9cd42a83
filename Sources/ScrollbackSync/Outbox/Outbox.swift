package import Foundation
package import ScrollbackModel

/// The messages this device has yet to hand over: in order in each conversation, one in flight there at a time, each
/// under one id until the server has answered for it, and no faster than the pace.
///
/// What a message has in files goes first: some are uploaded at a time, those queued first before others, whatever waits
/// before them in their conversation.
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
        /// Whose files are to be uploaded from now on.
        package var upload: [MessageID] = []
        /// Whose upload is to end: nobody wants it any more.
        package var stopUpload: [MessageID] = []
        /// To transmit, in this order.
        package var transmit: [MessageID] = []
        /// When to call ``Outbox/tick(now:)``.
        package var wakeAt: Date?

        package init() {}
    }

    /// How long a message's id is remembered, and so how long it is safe to send it again.
    package static let lifetime: TimeInterval = 180 * 24 * 60 * 60

    /// How long it takes until files that the server lost once more are uploaded once more.
    package static let uploadsAgainAfter: TimeInterval = 60 * 60

    /// How many messages' files are uploaded at a time.
    package static let maximumUploads = 3

    /// The items of each conversation, lowest ordinal first.
    var lanes: [ConversationID: [OutboxItem]] = [:]
    var conversations: [MessageID: ConversationID] = [:]
    private var lastOrdinal: Int64 = 0
    package private(set) var isConnected = false
    let backoff = Backoff()
    /// Those whose files have yet to be uploaded.
    var unuploaded: Set<MessageID> = []
    /// When files were uploaded once more that the server had lost.
    var uploadedAgain: [MessageID: Date] = [:]
    /// What the pace leaves; none where there is no pace.
    var pace: TokenBucket?
    /// Whether some message would have been transmitted, but for the pace.
    var isHeldBack = false
    /// What may be queued at all where what is above the pace fails.
    private var acceptance: TokenBucket?

    /// The outbox as the store kept it.
    ///
    /// What was in flight when the process ended is queued again under its id.
    package init(restoring items: some Sequence<OutboxItem> = [], pace: SendPace? = nil) {
        self.pace = pace.map { TokenBucket(perSecond: $0.perSecond, burst: Double($0.burst)) }
        if pace?.excess == .fails { acceptance = self.pace }
        for item in items { adopt(item) }
        for conversation in lanes.keys { lanes[conversation]?.sort { $0.ordinal < $1.ordinal } }
    }

    private mutating func adopt(_ item: OutboxItem) {
        var item = item
        if item.state == .sending || item.state == .uploading { item.state = .queued }
        if item.needsUpload { unuploaded.insert(item.id) }
        lanes[item.conversation, default: []].append(item)
        conversations[item.id] = item.conversation
        lastOrdinal = max(lastOrdinal, item.ordinal)
    }

    /// An item that was taken out is in the store all the same: it is queued again, at its old place.
    package mutating func putBack(_ item: OutboxItem) {
        guard conversations[item.id] == nil else { return }
        adopt(item)
        lanes[item.conversation]?.sort { $0.ordinal < $1.ordinal }
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
    ///
    /// - Parameters:
    ///   - isMessage: whether it is a message, or something to be done to one.
    ///   - needsUpload: whether it has files that go first.
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
            lanes[conversation, default: []].append(item)
            conversations[id] = conversation
            if needsUpload { unuploaded.insert(id) }
            steps.touch(id)
            pump(conversation, now, &steps)
        }
        return effects(of: steps)
    }

    /// Why a message is not even queued, where what is above the pace fails.
    private mutating func refusal(_ now: Date) -> ChatError? {
        guard acceptance?.take(now: now) == false, let acceptance else { return nil }
        return ChatError(
            .rateLimited, "more than \(acceptance.perSecond) messages a second", limit: Int(acceptance.perSecond),
            retryAfter: acceptance.wait)
    }

    package mutating func connected(now: Date) -> Effects {
        isConnected = true
        var steps = Steps()
        // What kept files from the server is likely over; what it said of messages it said itself.
        for id in unuploaded.sorted() where self[id]?.isWaiting == true { update(id, &steps) { $0.state = .queued } }
        pumpAll(now, &steps)
        return effects(of: steps)
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
        pumpAll(now, &steps)
        return effects(of: steps)
    }

    mutating func pumpAll(_ now: Date, _ steps: inout Steps) {
        isHeldBack = false
        for conversation in lanesInOrder { pumpLane(conversation, now, &steps) }
        pumpUploads(now, &steps)
    }

    private var lanesInOrder: [ConversationID] {
        lanes.values.compactMap { lane in lane.first { !$0.isFailed } }.sorted { $0.ordinal < $1.ordinal }.map(
            \.conversation)
    }
}
