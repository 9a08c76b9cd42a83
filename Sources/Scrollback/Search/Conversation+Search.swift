public import ScrollbackModel

extension Conversation {
    /// Finds messages of this conversation.
    ///
    /// Everything typed between spaces must be found, each where a word begins (`mig data` finds "data migration"); in double
    /// quotes as it is. Neither case nor accents nor width matter; two characters of a Japanese sentence, or one emoji, are
    /// found like a word.
    ///
    /// - Parameters:
    ///   - text: what was typed, 1...256 bytes of UTF-8.
    ///   - sort: newest first, or what answers best first.
    ///   - limit: how many messages at most, 1...100.
    ///   - cursor: the `next` of a page of the same question.
    ///   - source: the device; the server, whose answer is kept on the device too; or the server where it can be asked, else
    ///     the device, with a `shortfall`. A client with a ``MessageCipher`` keeps the server's first hundred, which are of
    ///     what is not encrypted, and answers from the device.
    /// - Throws: `invalid-parameter` naming the argument; what the server refused; `local-storage`. A server that can't be
    ///   reached is an error of a remote search, and of a merged one that goes on from the server's page.
    public func search(
        _ text: String, sort: SearchSort = .newestFirst, limit: Int = 20, after cursor: SearchCursor? = nil,
        from source: HistorySource = .merged
    ) async throws(ChatError) -> SearchPage {
        try await core.search(SearchQuery(text, in: id, sort: sort, limit: limit, after: cursor), from: source)
    }
}

extension ChatClient {
    /// Finds messages of all conversations the user is or was in; rooms are looked in by their name only.
    ///
    /// - Parameters:
    ///   - text: what was typed, 1...256 bytes of UTF-8, as ``Conversation/search(_:sort:limit:after:from:)`` takes it.
    ///   - sort: newest first, or what answers best first.
    ///   - limit: how many messages at most, 1...100.
    ///   - cursor: the `next` of a page of the same question.
    ///   - source: the device; the server, whose answer is kept on the device too; or the server where it can be asked, else
    ///     the device, with a `shortfall`. A client with a ``MessageCipher`` keeps the server's first hundred, which are of
    ///     what is not encrypted, and answers from the device.
    /// - Throws: `invalid-parameter` naming the argument; what the server refused; `local-storage`. A server that can't be
    ///   reached is an error of a remote search, and of a merged one that goes on from the server's page.
    public func search(
        _ text: String, sort: SearchSort = .newestFirst, limit: Int = 20, after cursor: SearchCursor? = nil,
        from source: HistorySource = .merged
    ) async throws(ChatError) -> SearchPage {
        try await core.search(SearchQuery(text, sort: sort, limit: limit, after: cursor), from: source)
    }
}
