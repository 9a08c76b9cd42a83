package import ScrollbackModel
import Synchronization
import TextAnalysis

extension Engine {
    /// Runs work on a thread that may block on the disk.
    package typealias Offload = @Sendable (@escaping @Sendable () -> Void) -> Void

    /// How long a search waits for the index to include recent messages.
    private static let indexTimeout: Duration = .seconds(2)
    /// The maximum number of index queries to replace matches that turn out to be invalid.
    private static let rounds = 8

    /// Searches one conversation, or all conversations that the caller is or was a member of, for visible messages.
    ///
    /// A search in all conversations excludes rooms. Messages committed before the call are found. For this, the search
    /// waits up to two seconds for the index, without blocking a thread. If that is not enough, the result has
    /// `isIndexing` set.
    ///
    /// Completes with `invalid-parameter` with the parameter's name, with `unknown-conversation`, or with `overloaded`
    /// if the search runs longer than ``SearchTime/limit``.
    package func search(
        _ query: SearchQuery, by caller: Caller, offload: @escaping Offload,
        completion: @escaping Completion<SearchPage>
    ) {
        @Sendable func answer(isComplete: Bool) {
            completion(
                Result {
                    try stopping { try found(query, by: caller, isComplete: isComplete, until: $0) }
                }.mapError(ChatError.init(wrapping:)))
        }
        offload { [self] in
            do {
                let (rows, isComplete) = try stopping { deadline in
                    let rows = try conversations(for: query, by: caller, until: deadline)
                    return (rows, try index.isComplete(rows))
                }
                if isComplete { return answer(isComplete: true) }
                index.catchUp(with: rows, within: Self.indexTimeout) { isComplete in
                    offload { answer(isComplete: isComplete) }
                }
            } catch {
                completion(.failure(ChatError(wrapping: error)))
            }
        }
    }

    /// Runs a part of a search with a deadline, and counts it if the deadline stops it.
    private func stopping<Answer>(_ body: (WorkDeadline) throws -> Answer) throws -> Answer {
        let deadline = searchTime.deadline()
        do {
            return try body(deadline)
        } catch let error as ChatError where error == deadline.error {
            stoppedSearches.wrappingAdd(1, ordering: .relaxed)
            throw error
        }
    }

    /// Validates the query and returns the conversations to search.
    private func conversations(
        for query: SearchQuery, by caller: Caller, until deadline: WorkDeadline
    ) throws -> [ConversationRow] {
        try query.check(pageSize: limits.pageSize)
        _ = try query.cursor?.position(of: query, by: .server)
        try checkHistory(by: caller)
        return try store.read { store in
            if let id = query.conversation {
                return [try access(to: id.logID.absolute(for: caller.user), for: caller, in: store).conversation]
            }
            return try searchedConversations(of: caller, in: store, until: deadline)
        }
    }

    private func searchedConversations(
        of caller: Caller, in store: any StoreReader, until deadline: WorkDeadline
    ) throws -> [ConversationRow] {
        try membershipSummaries(of: caller.user, in: store).compactMap { summary in
            try deadline.check()
            return try store.conversation(numbered: summary.number)
        }.filter { !$0.isDeleted && $0.id.kind.traits.hasRecents && $0.head > 0 }
    }

    private func found(
        _ query: SearchQuery, by caller: Caller, isComplete: Bool, until deadline: WorkDeadline
    ) throws -> SearchPage {
        let terms = SearchTerms(query.text)
        var page = SearchPage(hits: [], next: nil, isIndexing: !isComplete)
        var position = try query.cursor?.position(of: query, by: .server)
        return try store.read { store in
            let readers = try accesses(for: query, by: caller, in: store, until: deadline)
            let scopes = readers.values.flatMap { access in
                access.visible.ranges.map { SearchScope(conversation: access.conversation.number, range: $0) }
            }
            guard !terms.isEmpty, !scopes.isEmpty else { return page }
            var budget = ResponseBudget(messages: query.limit)
            // Replacing the messages that were edited later takes as many queries as needed, because a remaining cursor
            // would reveal that their new text matches.
            let rounds = readers.values.contains { $0.end != nil } ? .max : Self.rounds
            for _ in 0..<rounds {
                // One more match than wanted shows whether there are more.
                let wanted = query.limit - page.hits.count
                let found = try index.find(
                    terms, in: scopes, sort: query.sort, after: position, limit: wanted + 1, store, until: deadline)
                guard let found else {
                    page.isIndexing = true
                    return page
                }
                for match in found.matches.prefix(wanted) {
                    try deadline.check()
                    if let access = readers[match.place.conversation],
                        let hit = try hit(match, terms, access, &budget, store)
                    {
                        page.hits.append(hit)
                    }
                    if budget.didOverflow { break }
                    position = found.position(after: match)
                }
                guard found.matches.count > wanted || budget.didOverflow else { return page }
                if budget.isFull { break }
            }
            page.next = position.map { SearchCursor($0, of: query, by: .server) }
            return page
        }
    }

    /// Returns the caller's access to each conversation to search, by conversation number.
    private func accesses(
        for query: SearchQuery, by caller: Caller, in store: any StoreReader, until deadline: WorkDeadline
    ) throws -> [Int64: Access] {
        if let id = query.conversation {
            let access = try access(to: id.logID.absolute(for: caller.user), for: caller, in: store)
            return [access.conversation.number: access]
        }
        var found: [Int64: Access] = [:]
        for row in try searchedConversations(of: caller, in: store, until: deadline) {
            try deadline.check()
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

    /// Returns the hit for a match, if the message is unchanged, visible and still contains the words.
    private func hit(
        _ match: SearchMatch, _ terms: SearchTerms, _ access: Access, _ budget: inout ResponseBudget,
        _ store: any StoreReader
    ) throws -> SearchHit? {
        let place = match.place
        guard access.visible.contains(place.seq),
            let stored = try store.message(at: place.seq, in: place.conversation), stored.timetoken == place.time,
            case let row = try access.shown(stored, in: store), let text = row.searchableText,
            let ranges = terms.ranges(in: text), budget.take(row)
        else { return nil }
        let name = access.conversation.id.relative(to: access.reader)
        return SearchHit(message: row.message(in: name, epoch: access.state.epoch), ranges: ranges)
    }
}
