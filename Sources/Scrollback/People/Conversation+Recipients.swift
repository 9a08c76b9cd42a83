public import ScrollbackModel
import ScrollbackWire

/// A page of the members whose devices have received a message.
public struct RecipientPage: Sendable {
    /// The recipients, sorted by user ID.
    public var recipients: [MessageRecipient]
    /// The recipients' profiles, if they have one and the client could load it.
    public var profiles: [UserID: UserProfile]
    /// The value of `after` for the next page; `nil` if there is none.
    public var next: UserID?
}

extension Conversation {
    /// Fetches a page of the members whose devices have received a message, without its sender.
    ///
    /// A member whose device has received a message has also received all earlier ones. Members who have read the
    /// message are included. In a direct conversation, ``Timeline/View/peerDeliveredSeq`` is available without a
    /// request.
    ///
    /// - Parameters:
    ///   - id: A message of this conversation.
    ///   - user: The `next` of the previous page.
    ///   - limit: The maximum number of recipients, 1...100.
    /// - Throws: `feature-off` if read receipts are turned off on the server, and in conversations without delivery
    ///   receipts: all but direct ones and groups of at most 20 members. `unknown-message`. `invalid-parameter`.
    ///   `unreachable`.
    public func recipients(
        of id: MessageID, after user: UserID? = nil, limit: Int = 100
    ) async throws(ChatError) -> RecipientPage {
        try Self.check(limit)
        let page = try await core.perform(
            ListRecipients(conversation: self.id, id: id, page: Paging(limit: limit, cursor: user?.text)))
        return RecipientPage(
            recipients: page.elements, profiles: try await core.people(Set(page.elements.map(\.id))),
            next: try page.after())
    }
}
