public import ScrollbackModel
import ScrollbackWire

/// A page of the users that a search found.
public struct PeoplePage: Sendable {
    /// The profiles of the users, sorted by user ID.
    ///
    /// A page can be empty although more pages follow.
    public var people: [UserProfile]
    /// The cursor of the next page; `nil` if there is none.
    public var next: String?
}

extension ChatClient {
    /// Searches the users of the server by name and ID.
    ///
    /// Each word of the text must begin a word of the user's name or ID. Case and diacritics don't matter. The server's
    /// configuration decides who is found. This user is left out, and so are users who blocked this user and blocked
    /// users.
    ///
    /// - Parameters:
    ///   - text: The beginnings of words, 1...128 bytes of UTF-8.
    ///   - cursor: The ``PeoplePage/next`` of the previous page; `nil` returns the first page.
    ///   - limit: The maximum number of users, 1...100.
    /// - Throws: `feature-off` if the directory is turned off on the server. `invalid-parameter`. `unreachable`.
    public func people(
        matching text: String, after cursor: String? = nil, limit: Int = 20
    ) async throws(ChatError) -> PeoplePage {
        try Conversation.check(limit)
        let page = try await core.perform(
            SearchUsers(text: text, page: Paging(limit: limit, cursor: cursor)))
        return PeoplePage(people: page.elements, next: page.cursor)
    }
}
