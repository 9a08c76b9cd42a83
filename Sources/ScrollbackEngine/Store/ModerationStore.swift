package import ScrollbackModel

/// Read operations for blocks, mutes and webhook deliveries.
package protocol ModerationReader {
    /// Returns whether `user` has blocked `other`.
    func hasBlocked(_ user: UserID, _ other: UserID) throws -> Bool
    /// Returns the users that a user has blocked, ordered by ID.
    func blocked(by user: UserID, after: UserID?, limit: Int) throws -> [UserID]
    /// Returns the users who have blocked a user, ordered by ID.
    func blockers(of user: UserID, limit: Int) throws -> [UserID]

    /// Returns a user's mute in a conversation; it may have expired.
    func mute(of user: UserID, in conversation: Int64) throws -> Mute?

    /// Returns conversations with pending deliveries, ordered by number.
    func conversationsWithDeliveries(after conversation: Int64, limit: Int) throws -> [Int64]
    /// Returns a conversation's pending deliveries, oldest first.
    func deliveries(of conversation: Int64, limit: Int) throws -> [DeliveryRow]
    /// Returns the number of pending deliveries.
    func deliveryCount() throws -> Int64
}

/// Write operations for blocks, mutes and webhook deliveries.
package protocol ModerationWriter {
    func putBlock(of other: UserID, by user: UserID, isOn: Bool) throws
    /// Mutes a user, or unmutes the user if `mute` is `nil`.
    func put(_ mute: Mute?, of user: UserID, in conversation: Int64) throws

    /// Adds a delivery with a number above all earlier numbers.
    func insertDelivery(_ body: RawJSON, of conversation: Int64) throws
    /// Deletes a conversation's deliveries up to a number, and returns how many.
    @discardableResult func dropDeliveries(of conversation: Int64, through number: Int64) throws -> Int
    /// Deletes all pending deliveries, and returns how many.
    @discardableResult func dropDeliveries() throws -> Int
}

/// A pending webhook delivery.
package struct DeliveryRow: Hashable, Sendable {
    /// The delivery's number; numbers increase and are never reused.
    package var number: Int64
    package var conversation: Int64
    package var body: RawJSON

    package init(number: Int64, conversation: Int64, body: RawJSON) {
        self.number = number
        self.conversation = conversation
        self.body = body
    }
}
