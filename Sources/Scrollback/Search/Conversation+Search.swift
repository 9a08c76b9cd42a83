public import ScrollbackModel

extension Conversation {
    /// Searches the messages of this conversation.
    ///
    /// A message matches if it contains every word of the query, each at the beginning of a word: `mig data` finds
    /// "data migration". Text in double quotes must occur exactly. Case, accents and character width are ignored. In
    /// Japanese text, two characters match like a word, as does a single emoji.
    ///
    /// - Parameters:
    ///   - text: The query, 1...256 bytes of UTF-8.
    ///   - sort: The order: newest first, or most relevant first.
    ///   - limit: The maximum number of messages, 1...100.
    ///   - cursor: The `next` of the previous page of the same query.
    ///   - source: The device, the server, or both. With ``HistorySource/merged``, the server answers if it can be
    ///     reached, and otherwise the device, with a `remoteError`. The server's results are stored on the device.
    ///     Because the server can't search encrypted messages, a client with a ``MessageCipher`` stores the server's
    ///     first 100 results and answers from the device.
    /// - Throws: `invalid-parameter` naming the argument, the server's error, or `local-storage`. If the server can't
    ///   be reached, a remote search throws, as does a merged search that continues a page of the server.
    public func search(
        _ text: String, sort: SearchSort = .newestFirst, limit: Int = 20, after cursor: SearchCursor? = nil,
        from source: HistorySource = .merged
    ) async throws(ChatError) -> SearchPage {
        try await core.search(SearchQuery(text, in: id, sort: sort, limit: limit, after: cursor), from: source)
    }
}

extension ChatClient {
    /// Searches the messages of all conversations that the user is or was a member of, except rooms.
    ///
    /// To search a room, use ``Conversation/search(_:sort:limit:after:from:)``.
    ///
    /// - Parameters:
    ///   - text: The query, 1...256 bytes of UTF-8, as for ``Conversation/search(_:sort:limit:after:from:)``.
    ///   - sort: The order: newest first, or most relevant first.
    ///   - limit: The maximum number of messages, 1...100.
    ///   - cursor: The `next` of the previous page of the same query.
    ///   - source: The device, the server, or both. With ``HistorySource/merged``, the server answers if it can be
    ///     reached, and otherwise the device, with a `remoteError`. The server's results are stored on the device.
    ///     Because the server can't search encrypted messages, a client with a ``MessageCipher`` stores the server's
    ///     first 100 results and answers from the device.
    /// - Throws: `invalid-parameter` naming the argument, the server's error, or `local-storage`. If the server can't
    ///   be reached, a remote search throws, as does a merged search that continues a page of the server.
    public func search(
        _ text: String, sort: SearchSort = .newestFirst, limit: Int = 20, after cursor: SearchCursor? = nil,
        from source: HistorySource = .merged
    ) async throws(ChatError) -> SearchPage {
        try await core.search(SearchQuery(text, sort: sort, limit: limit, after: cursor), from: source)
    }
}
