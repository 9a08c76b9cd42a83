package import ScrollbackModel

/// What the engine asks a snapshot about who may write to whom, and what is to be told elsewhere.
package protocol MannersReader {
    /// Whether `user` has blocked `other`.
    func hasBlocked(_ user: UserID, _ other: UserID) throws -> Bool
    /// Whom a user has blocked, by name.
    func blocked(by user: UserID, after: UserID?, limit: Int) throws -> [UserID]
    /// Who has blocked a user, by name.
    func blockers(of user: UserID, limit: Int) throws -> [UserID]

    /// For how long somebody may not write in a conversation; ones that ended may be given still.
    func mute(of user: UserID, in conversation: Int64) throws -> Mute?

    /// Conversations with deliveries that wait, by number.
    func conversationsWithDeliveries(after conversation: Int64, limit: Int) throws -> [Int64]
    /// What waits to be delivered of one conversation, oldest first.
    func deliveries(of conversation: Int64, limit: Int) throws -> [DeliveryRow]
    /// How many deliveries wait.
    func deliveryCount() throws -> Int64
}

/// Changes to who may write to whom, and to what is to be told elsewhere.
package protocol MannersWriter {
    func putBlock(of other: UserID, by user: UserID, isOn: Bool) throws
    /// Mutes somebody, or (nil) lets them write again.
    func put(_ mute: Mute?, of user: UserID, in conversation: Int64) throws

    /// Adds a delivery, with a number above every one the store gave before.
    func insertDelivery(_ body: RawJSON, of conversation: Int64) throws
    /// Forgets a conversation's deliveries at or below a number, and says how many.
    @discardableResult func dropDeliveries(of conversation: Int64, through number: Int64) throws -> Int
    /// Forgets every delivery that waits, and says how many.
    @discardableResult func dropDeliveries() throws -> Int
}

/// Something the operator's own program is to be told.
package struct DeliveryRow: Hashable, Sendable {
    /// Rises with every delivery and is never given again: it names the delivery.
    package var number: Int64
    package var conversation: Int64
    package var body: RawJSON

    package init(number: Int64, conversation: Int64, body: RawJSON) {
        self.number = number
        self.conversation = conversation
        self.body = body
    }
}
