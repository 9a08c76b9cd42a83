package import ScrollbackModel
import ScrollbackWords

extension Engine {
    /// Has work done on a thread that may wait for the disk.
    package typealias Offload = @Sendable (@escaping @Sendable () -> Void) -> Void

    /// How long a search waits for what was just said to be in the index.
    private static let patience: Duration = .seconds(2)
    /// How often matches that turn out to be none are made up for.
    private static let rounds = 8

    /// Finds messages of a conversation, or of every one the caller is or was in, as far as they may see them.
    ///
    /// Rooms are looked in by name only. What was committed before the call is found: the search waits for the index up to
    /// two seconds, without a thread, and says `isIndexing` where that was not enough.
    ///
    /// Completes with `invalid-parameter` naming the argument, or `unknown-conversation`.
    package func search(
        _ query: SearchQuery, by caller: Caller, offload: @escaping Offload,
        completion: @escaping Completion<SearchPage>
    ) {
        @Sendable func answer(isWhole: Bool) {
            completion(
                Result { try found(query, by: caller, isWhole: isWhole) }.mapError(ChatError.init(wrapping:)))
        }
        offload { [self] in
            do {
                let rows = try conversations(for: query, by: caller)
                if try index.isWhole(rows) { return answer(isWhole: true) }
                index.catchUp(with: rows, within: Self.patience) { isWhole in
                    offload { answer(isWhole: isWhole) }
                }
            } catch {
                completion(.failure(ChatError(wrapping: error)))
            }
        }
    }

    /// The conversations a search is about, once it is known to be one that may be asked.
    private func conversations(for query: SearchQuery, by caller: Caller) throws -> [ConversationRow] {
        try query.check(pageSize: limits.pageSize)
        _ = try query.cursor?.position(of: query, by: .server)
        try checkHistory(by: caller)
        return try store.read { store in
            if let id = query.conversation {
                return [try access(to: id.log.absolute(for: caller.user), for: caller, in: store).conversation]
            }
            return try searchedConversations(of: caller, in: store)
        }
    }

    private func searchedConversations(of caller: Caller, in store: any StoreReader) throws -> [ConversationRow] {
        try involvements(of: caller.user, in: store).compactMap { try store.conversation(numbered: $0.number) }
            .filter { !$0.isDeleted && $0.id.kind.traits.hasRecents && $0.head > 0 }
    }

    private func found(_ query: SearchQuery, by caller: Caller, isWhole: Bool) throws -> SearchPage {
        let terms = SearchTerms(query.text)
        var page = SearchPage(hits: [], next: nil, isIndexing: !isWhole)
        var position = try query.cursor?.position(of: query, by: .server)
        return try store.read { store in
            let readers = try accesses(for: query, by: caller, in: store)
            let scopes = readers.values.flatMap { access in
                access.visible.ranges.map { SearchScope(conversation: access.conversation.number, places: $0) }
            }
            guard !terms.isEmpty, !scopes.isEmpty else { return page }
            var room = PageRoom(messages: query.limit)
            for _ in 0..<Self.rounds {
                // One more than is wanted tells whether there is more.
                let wanted = query.limit - page.hits.count
                let found = try index.find(
                    terms, in: scopes, sort: query.sort, after: position, limit: wanted + 1, store)
                guard let found else {
                    page.isIndexing = true
                    return page
                }
                for match in found.matches.prefix(wanted) {
                    if let access = readers[match.place.conversation],
                        let hit = try hit(match, terms, access, &room, store)
                    {
                        page.hits.append(hit)
                    }
                    if room.hasRefused { break }
                    position = found.position(after: match)
                }
                guard found.matches.count > wanted || room.hasRefused else { return page }
                if room.isFull { break }
            }
            page.next = position.map { SearchCursor($0, of: query, by: .server) }
            return page
        }
    }

    /// What the caller may see of each conversation they ask about, by its number.
    private func accesses(
        for query: SearchQuery, by caller: Caller, in store: any StoreReader
    ) throws -> [Int64: Access] {
        if let id = query.conversation {
            let access = try access(to: id.log.absolute(for: caller.user), for: caller, in: store)
            return [access.conversation.number: access]
        }
        var found: [Int64: Access] = [:]
        for row in try searchedConversations(of: caller, in: store) {
            do {
                found[row.number] = try Access(
                    to: row, for: caller, in: store, permissions: permissions, generation: self.store.generation,
                    now: clock())
            } catch let error as ChatError where error.code == .unknownConversation || error.code == .banned {
                continue
            }
        }
        return found
    }

    /// A match, if its row is the one that was meant, may be seen, and has the words now.
    private func hit(
        _ match: SearchMatch, _ terms: SearchTerms, _ access: Access, _ room: inout PageRoom, _ store: any StoreReader
    ) throws -> SearchHit? {
        let place = match.place
        guard access.visible.contains(place.seq),
            let row = try store.message(at: place.seq, in: place.conversation), row.timetoken == place.time,
            let text = row.searchableText, let ranges = terms.ranges(in: text), room.take(row)
        else { return nil }
        let name = access.conversation.id.relative(to: access.reader)
        return SearchHit(message: row.message(in: name, epoch: access.state.epoch), ranges: ranges)
    }
}
