package import ScrollbackModel

/// Searches the users of the server.
package struct SearchUsers: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "searchUsers", http: .get("/v1/users"), scope: .read, callers: .anyUser, cost: .search,
        tag: .users,
        summary: "Search users by name and ID",
        details: """
            Each word of `text` must begin a word of the user's name or ID. Case and diacritics don't matter. The \
            setting `directory` decides who is found. You, users who blocked you or whom you blocked, and users who \
            are banned, deactivated or erased are left out. Ordered by ID. A page can be empty and still have a \
            cursor. If the directory is off, the request fails with 403 `feature-off`.
            """)

    package typealias Answer = ListPage<UserProfile>

    package var text: String
    package var page: Paging

    package init(text: String, page: Paging) {
        self.text = text
        self.page = page
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        text = try request.required("text", "The beginnings of words, at most 128 bytes of UTF-8.")
        page = try Paging(from: &request)
        guard (1...Self.textBytes).contains(text.utf8.count) else {
            throw .invalidParameter("text", "must have 1...\(Self.textBytes) bytes of UTF-8", limit: Self.textBytes)
        }
    }

    private static let textBytes = 128

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("text", text)
        page.writeMembers(to: &writer)
    }
}
