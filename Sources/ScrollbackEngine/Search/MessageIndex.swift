package import ScrollbackModel
package import ScrollbackWords

/// Finds words among a store's messages.
///
/// It only proposes: a match is one if its row, as its reader may see it now, has the words. So an index may be behind, or
/// begin anew at any time, and shows nothing that should not be seen.
package protocol MessageIndex: AnyObject, Sendable {
    /// Hears which conversations a commit touched.
    ///
    /// Called on the writer's thread after the commit: it must not block.
    ///
    /// - Parameter moved: the commit's number.
    func committed(_ conversations: Set<ConversationID>, moved: Int64)

    /// Whether everything these rows know of is in the index.
    func isWhole(_ conversations: [ConversationRow]) throws -> Bool

    /// Waits, not longer than that, until everything these rows know of is in the index.
    ///
    /// - Parameter completion: told whether it is, on any thread.
    func catchUp(
        with conversations: [ConversationRow], within time: Duration, completion: @escaping @Sendable (Bool) -> Void)

    /// The next matches of a question, in the order that was asked for.
    ///
    /// - Parameters:
    ///   - scopes: what the reader may see, each place in one of them only.
    ///   - store: the snapshot that the matches will be looked up in.
    /// - Returns: nothing where the index turned out to be lost, and is being made anew.
    func find(
        _ terms: SearchTerms, in scopes: [SearchScope], sort: SearchSort, after position: SearchPosition?, limit: Int,
        _ store: any StoreReader
    ) throws -> SearchMatches?
}

/// No index at all: every message is read for every question.
///
/// For stores in memory, and as what an index is compared with.
package final class ScanningIndex: MessageIndex {
    package init() {}

    package func committed(_ conversations: Set<ConversationID>, moved: Int64) {}

    package func isWhole(_ conversations: [ConversationRow]) -> Bool { true }

    package func catchUp(
        with conversations: [ConversationRow], within time: Duration, completion: @escaping @Sendable (Bool) -> Void
    ) {
        completion(true)
    }

    package func find(
        _ terms: SearchTerms, in scopes: [SearchScope], sort: SearchSort, after position: SearchPosition?, limit: Int,
        _ store: any StoreReader
    ) throws -> SearchMatches? {
        var places: [(place: SearchPlace, text: String)] = []
        for scope in scopes {
            let rows = try store.messages(
                in: scope.conversation, scope.places, newestFirst: true, limit: .max, filter: .all,
                reader: UserID(known: ""))
            for row in rows {
                guard let text = row.searchableText, terms.ranges(in: text) != nil else { continue }
                places.append(
                    (SearchPlace(time: row.timetoken, conversation: scope.conversation, seq: row.seq), text))
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
                .prefix(SearchTerms.candidates)
                .map { SearchMatch(place: $0.place, score: terms.score(of: Words($0.text))) }
            let wanted = position.map { position in candidates.filter { $0 < position.last } } ?? candidates
            found.matches = Array(wanted.sorted(by: >).prefix(limit))
        }
        found.isFull = found.matches.count == limit
        return found
    }
}

extension MessageRow {
    /// What a search looks through; nothing of what was recalled.
    package var searchableText: String? {
        SearchableText.of(content.map { MessageContent(known: type, json: $0) })
    }
}

extension Event {
    /// The conversation whose messages may be other ones now.
    var changedConversation: ConversationID? {
        switch self {
        case .message(let message, _, _): message.conversation
        case .changed(let id, _, _, _), .moved(let id, _, _), .conversationDeleted(let id): id
        default: nil
        }
    }
}
