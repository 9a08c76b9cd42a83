public import ScrollbackModel
import ScrollbackWire

/// A page of those who have read a message.
public struct ReaderPage: Sendable {
    /// By name; a page may have few or none and go on all the same.
    public var readers: [MessageReader]
    /// Their profiles, as far as they have one and this device could get it.
    public var people: [UserID: UserProfile]
    /// Where the next page begins; absent where there is none.
    public var next: UserID?
}

extension Conversation {
    /// Asks the server who of the members has read a message, its sender left out.
    ///
    /// Who has read up to a message has read those below it. In a direct conversation ``Timeline/View/peerReadSeq`` tells
    /// without asking.
    ///
    /// - Parameters:
    ///   - id: a message of this conversation.
    ///   - user: the `next` of the page before.
    ///   - limit: how many, 1...100.
    /// - Throws: `feature-off` where the server tells nobody; `unknown-message`; `invalid-parameter`, of rooms too, where
    ///   nobody has a position; `unreachable`.
    public func readers(
        of id: MessageID, after user: UserID? = nil, limit: Int = 100
    ) async throws(ChatError) -> ReaderPage {
        try Self.check(limit)
        let body = try await core.request(.people(.readers(self.id, id, after: user, limit: limit)))
        var reader = try JSONReader(body)
        let page = try ListPage<MessageReader>(from: &reader)
        return ReaderPage(
            readers: page.elements, people: try await core.people(Set(page.elements.map(\.id))),
            next: try page.after())
    }
}
