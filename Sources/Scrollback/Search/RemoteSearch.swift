import ScrollbackModel
import ScrollbackSync
import ScrollbackWire
import TextAnalysis

extension ClientCore {
    /// Searches messages on this device, on the server, or on the server with the device as a fallback.
    func search(_ query: SearchQuery, from source: HistorySource) async throws(ChatError) -> SearchPage {
        try query.check(pageSize: Limits.standard.pageSize)
        switch source {
        case .local: return try await localSearch(query)
        case .remote(let excludingLocal): return try await remoteSearch(query, excludingLocal: excludingLocal)
        case .merged: return try await mergedSearch(query)
        }
    }

    private func remoteSearch(_ query: SearchQuery, excludingLocal: Bool) async throws(ChatError) -> SearchPage {
        var page = try await perform(SearchMessages(query: query))
        let messages = page.hits.map(\.message)
        var known: Set<MessageReference> = []
        if excludingLocal {
            known = try await store.read { reader in
                Set(
                    try messages.filter { try reader.message($0.id, in: $0.conversation) != nil }
                        .map { MessageReference($0.id, in: $0.conversation) })
            }
        }
        try await apply(found: messages)
        page.hits = page.hits.map { SearchHit(message: store.messageEncryption.open($0.message), ranges: $0.ranges) }
        page.hits.removeAll { known.contains(MessageReference($0.message.id, in: $0.message.conversation)) }
        return page
    }

    /// Searches on the server if possible, because it has all messages, and otherwise on the device.
    ///
    /// The server can't search encrypted messages. If this client has keys, the server's newest results are stored here
    /// and the device answers the query.
    private func mergedSearch(_ query: SearchQuery) async throws(ChatError) -> SearchPage {
        do {
            if let cursor = query.cursor { _ = try cursor.position(of: query, by: .device) }
        } catch {
            // The cursor belongs to the server or is invalid. Only the side that created it can continue.
            _ = try query.cursor?.position(of: query, by: .server)
            return try await remoteSearch(query, excludingLocal: false)
        }
        let hasKeys = store.messageEncryption.cipher != nil
        var remoteError: ChatError?
        if query.cursor == nil {
            do {
                guard hasKeys else { return try await remoteSearch(query, excludingLocal: false) }
                var widest = query
                widest.limit = Limits.standard.pageSize
                _ = try await remoteSearch(widest, excludingLocal: false)
            } catch let error where error.allowsLocalFallback {
                remoteError = error
            }
        } else if !hasKeys {
            remoteError = ChatError(
                .unreachable, "These pages began without the server. Start a new search to include it.")
        }
        var page = try await localSearch(query)
        page.remoteError = remoteError
        return page
    }
}
