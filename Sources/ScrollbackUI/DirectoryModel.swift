public import Scrollback

/// An observable model of a search for users, sorted by user ID.
public final class DirectoryModel: PagedSearchModel<UserProfile, String> {
    /// Requests pages until one has users.
    override func page(
        of text: String, after cursor: String?
    ) async throws(ChatError) -> (results: [UserProfile], next: String?) {
        var (people, next): ([UserProfile], String?) = ([], cursor)
        repeat {
            let page = try await client.people(matching: text, after: next, limit: pageSize)
            (people, next) = (page.people, page.next)
        } while people.isEmpty && next != nil && text == self.text
        return (people, next)
    }
}
