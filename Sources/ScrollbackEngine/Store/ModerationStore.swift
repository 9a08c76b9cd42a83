package import Foundation
package import ScrollbackModel

/// Read operations for blocks and webhook deliveries.
package protocol ModerationReader {
    /// Returns the users that a user has blocked, ordered by ID.
    func blocked(by user: UserID, after: UserID?, limit: Int) throws -> [UserID]
    /// Returns the users who have blocked a user, ordered by ID.
    func blockers(of user: UserID, limit: Int) throws -> [UserID]

    /// Returns conversations with pending deliveries to a webhook, ordered by number.
    func conversationsWithDeliveries(to webhook: String, after conversation: Int64, limit: Int) throws -> [Int64]
    /// Returns a conversation's pending deliveries to a webhook, oldest first.
    func deliveries(to webhook: String, of conversation: Int64, limit: Int) throws -> [DeliveryRow]
    /// Returns the number of pending deliveries.
    func deliveryCount() throws -> Int64
    /// Returns the deliveries to a webhook below a number, newest first.
    ///
    /// - Parameter isPending: Only pending deliveries, only delivered ones, or all if `nil`.
    func deliveryLog(to webhook: String, below number: Int64, isPending: Bool?, limit: Int) throws -> [DeliveryRow]
    /// Returns the delivered events in a range of numbers that repeat no other delivery, oldest first.
    func delivered(to webhook: String, _ numbers: ClosedRange<Int64>, limit: Int) throws -> [DeliveryRow]
}

/// Write operations for blocks, mutes and webhook deliveries.
package protocol ModerationWriter {
    func putBlock(of other: UserID, by user: UserID, isOn: Bool) throws
    /// Mutes a user, or unmutes the user if `mute` is `nil`.
    func put(_ mute: Mute?, of user: UserID, in conversation: Int64) throws

    /// Adds a delivery with a number above all earlier numbers.
    func insertDelivery(_ row: DeliveryRow) throws
    /// Records an attempt to send a conversation's pending deliveries up to a number, and returns their number.
    ///
    /// They stay pending if the attempt failed.
    @discardableResult func record(
        _ attempt: DeliveryAttempt, to webhook: String, of conversation: Int64, through number: Int64
    ) throws -> Int
    /// Deletes at most `limit` deliveries to other webhooks.
    func dropDeliveries(exceptTo webhooks: Set<String>, limit: Int) throws -> DroppedDeliveries
    /// Deletes at most `limit` deliveries with the content of some messages.
    func dropDeliveries(of places: SeqRange, in conversation: Int64, limit: Int) throws -> DroppedDeliveries
    /// Deletes at most `limit` delivered events, and returns how many. They were sent before a time, or their number is
    /// at least `count` below the newest one.
    func dropDelivered(before time: Date, exceeding count: Int64, limit: Int) throws -> Int
}

/// The delivery of an event to a webhook.
package struct DeliveryRow: Hashable, Sendable {
    /// The conversation of events that belong to none, which is above all numbers of conversations.
    package static let noConversation = Int64.max

    /// The delivery's number; numbers increase and are never reused.
    package var number: Int64 = 0
    package var webhook: String
    package var conversation: Int64
    /// The kind of the event, or `nil` if an older version of the server stored it.
    package var event: String?
    /// The sequence number of the message whose content the event has.
    package var seq: Seq?
    package var body: RawJSON
    /// The delivery that this one repeats.
    package var original: Int64?
    package var attempts: Int64 = 0
    /// When the last attempt ended.
    package var attemptedAt: Date?
    /// Why the last failed attempt failed.
    package var error: String?
    package var isDelivered = false

    package init(
        _ event: String?, to webhook: String = "", of conversation: Int64 = DeliveryRow.noConversation, seq: Seq? = nil,
        body: RawJSON
    ) {
        self.event = event
        self.webhook = webhook
        self.conversation = conversation
        self.seq = seq
        self.body = body
    }
}

/// The deliveries that a change deleted.
package struct DroppedDeliveries: Hashable, Sendable {
    package var count = 0
    /// How many of them were pending.
    package var pending = 0

    package init(count: Int = 0, pending: Int = 0) {
        self.count = count
        self.pending = pending
    }

    /// Adds deliveries, each with whether it was delivered.
    package mutating func add(_ areDelivered: [Bool]) {
        count += areDelivered.count
        pending += areDelivered.count { !$0 }
    }
}

/// An attempt to send events to a webhook.
package struct DeliveryAttempt: Hashable, Sendable {
    package var at: Date
    /// Why it failed, or `nil` if the webhook acknowledged the events.
    package var error: String?
    /// Whether the events are kept.
    package var keeps: Bool

    package init(at: Date, error: String? = nil, keeps: Bool = true) {
        self.at = at
        self.error = error
        self.keeps = keeps
    }
}
