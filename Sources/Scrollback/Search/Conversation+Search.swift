public import ScrollbackModel

extension Conversation {
    /// Finds messages of this conversation that this device has.
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
    /// - Throws: `invalid-parameter` naming the argument; `local-storage`.
    public func search(
        _ text: String, sort: SearchSort = .newestFirst, limit: Int = 20, after cursor: SearchCursor? = nil
    ) async throws(ChatError) -> SearchPage {
        try await core.localSearch(SearchQuery(text, in: id, sort: sort, limit: limit, after: cursor))
    }
}

extension ChatClient {
    /// Finds messages of all conversations that this device has.
    ///
    /// - Parameters:
    ///   - text: what was typed, 1...256 bytes of UTF-8, as ``Conversation/search(_:sort:limit:after:)`` takes it.
    ///   - sort: newest first, or what answers best first.
    ///   - limit: how many messages at most, 1...100.
    ///   - cursor: the `next` of a page of the same question.
    /// - Throws: `invalid-parameter` naming the argument; `local-storage`.
    public func search(
        _ text: String, sort: SearchSort = .newestFirst, limit: Int = 20, after cursor: SearchCursor? = nil
    ) async throws(ChatError) -> SearchPage {
        try await core.localSearch(SearchQuery(text, sort: sort, limit: limit, after: cursor))
    }
}
