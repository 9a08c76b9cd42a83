public import ScrollbackModel
import ScrollbackWire

/// A page of the members who have read a message.
public struct ReaderPage: Sendable {
    /// The readers, sorted by user ID.
    ///
    /// A page can be empty although more pages follow.
    public var readers: [MessageReader]
    /// The readers' profiles, if they have one and the client could load it.
    public var profiles: [UserID: UserProfile]
    /// The value of `after` for the next page; `nil` if there is none.
    public var next: UserID?
}

extension Conversation {
    /// Fetches a page of the members who have read a message, without its sender.
    ///
    /// A member who has read up to a message has also read all earlier ones. In a direct conversation,
    /// ``Timeline/View/peerReadSeq`` is available without a request.
    ///
    /// - Parameters:
    ///   - id: A message of this conversation.
    ///   - user: The `next` of the previous page.
    ///   - limit: The maximum number of readers, 1...100.
    /// - Throws: `feature-off` if read receipts are turned off on the server. `unknown-message`. `invalid-parameter`,
    ///   also for rooms, which have no read positions. `unreachable`.
    public func readers(
        of id: MessageID, after user: UserID? = nil, limit: Int = 100
    ) async throws(ChatError) -> ReaderPage {
        try Self.check(limit)
        let page = try await core.perform(
            ListReaders(conversation: self.id, id: id, page: Paging(limit: limit, cursor: user?.text)))
        return ReaderPage(
            readers: page.elements, profiles: try await core.people(Set(page.elements.map(\.id))),
            next: try page.after())
    }
}
