package import ScrollbackModel
package import TextAnalysis

/// A full-text index of a store's messages.
///
/// The index only proposes matches. The engine verifies that a match's current row is visible to the reader and
/// contains the words. The index can therefore lag behind or be rebuilt at any time without exposing messages.
package protocol MessageIndex: AnyObject, Sendable {
    /// Notifies the index of the conversations that a commit changed.
    ///
    /// Called on the writer's thread after the commit; it must not block.
    ///
    /// - Parameter lastCommit: The commit's number.
    func committed(_ conversations: Set<ConversationID>, lastCommit: Int64)

    /// Returns whether the index includes everything up to the state of these rows.
    func isComplete(_ conversations: [ConversationRow]) throws -> Bool

    /// Waits until the index includes everything up to the state of these rows.
    ///
    /// - Parameters:
    ///   - time: The maximum time to wait.
    ///   - completion: Called on any thread with whether the index is complete.
    func catchUp(
        with conversations: [ConversationRow], within time: Duration, completion: @escaping @Sendable (Bool) -> Void)

    /// Returns the next matches of a query, in the requested order.
    ///
    /// - Parameters:
    ///   - scopes: The ranges that the reader can see, without overlaps.
    ///   - store: The snapshot in which the matches are looked up.
    ///   - deadline: When the search must stop.
    /// - Returns: The matches, or `nil` if the index was lost and is being rebuilt.
    /// - Throws: ``WorkDeadline/error`` after the deadline.
    func find(
        _ terms: SearchTerms, in scopes: [SearchScope], sort: SearchSort, after position: SearchPosition?, limit: Int,
        _ store: any StoreReader, until deadline: WorkDeadline
    ) throws -> SearchMatches?
}

/// A search without an index, which reads every message for every query.
///
/// It serves stores in memory, and tests use it as the reference for other indexes.
package final class ScanningIndex: MessageIndex {
    package init() {}

    package func committed(_ conversations: Set<ConversationID>, lastCommit: Int64) {}

    package func isComplete(_ conversations: [ConversationRow]) -> Bool { true }

    package func catchUp(
        with conversations: [ConversationRow], within time: Duration, completion: @escaping @Sendable (Bool) -> Void
    ) {
        completion(true)
    }

    package func find(
        _ terms: SearchTerms, in scopes: [SearchScope], sort: SearchSort, after position: SearchPosition?, limit: Int,
        _ store: any StoreReader, until deadline: WorkDeadline
    ) throws -> SearchMatches? {
        var places: [(place: IndexPosition, text: String)] = []
        for scope in scopes {
            let rows = try store.messages(
                in: scope.conversation, scope.range, newestFirst: true, limit: .max, filter: .all,
                reader: UserID(known: ""))
            for row in rows {
                try deadline.check()
                guard let text = row.searchableText, terms.ranges(in: text) != nil else { continue }
                places.append(
                    (IndexPosition(time: row.timetoken, conversation: scope.conversation, seq: row.seq), text))
            }
        }
        places.sort { $0.place > $1.place }
        var found = SearchMatches()
        found.newest = position?.newest ?? places.first?.place
        switch sort {
        case .newestFirst:
            let wanted = places.filter { candidate in position.map { candidate.place < $0.last.place } ?? true }
            found.matches = wanted.prefix(limit).map { SearchMatch(place: $0.place, score: 0) }
        case .bestFirst:
            let candidates = places.filter { candidate in position.map { candidate.place <= $0.newest } ?? true }
                .prefix(SearchTerms.candidateLimit)
                .map { SearchMatch(place: $0.place, score: terms.score(of: TokenizedText($0.text))) }
            let wanted = position.map { position in candidates.filter { $0 < position.last } } ?? candidates
            found.matches = Array(wanted.sorted(by: >).prefix(limit))
        }
        found.isFull = found.matches.count == limit
        return found
    }
}

extension MessageRow {
    /// The text of the message that a search examines; `nil` for a deleted message.
    package var searchableText: String? {
        SearchableText.of(content.map { MessageContent(known: type, json: $0) })
    }
}

extension Event {
    /// The conversation whose messages the event changes, if any.
    var changedConversation: ConversationID? {
        switch self {
        case .message(let message, _, _): message.conversation
        case .changed(let id, _, _, _), .headChanged(let id, _, _), .conversationDeleted(let id): id
        default: nil
        }
    }
}
