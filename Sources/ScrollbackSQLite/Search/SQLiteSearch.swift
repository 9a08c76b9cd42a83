import Foundation
package import ScrollbackEngine
package import ScrollbackModel
package import ScrollbackSearch
import StoreFiles
import Synchronization

/// The words of a store's messages, in `search.sqlite` beside it.
///
/// It is filled in steps that take bounded time, and knows by itself how far it is: whoever runs it calls
/// ``catchUp()`` until there is nothing more at the start, ``catchUp(_:)`` for conversations a commit added messages to,
/// and ``index(_:in:)`` and ``remove(_:in:)`` for what changed or went. Matches are proposals: the reader's rows decide, so
/// being behind, or one change too late, shows nothing that should not be seen.
///
/// Calls block, one change at a time.
package final class SQLiteSearch: Sendable {
    private let store: SQLiteStore
    private let index: SearchIndex
    private let pass = Mutex<Pass?>(nil)
    /// How many messages a step takes.
    private static let batch = 500

    /// Where a pass over everything that moved is.
    private struct Pass {
        /// The commit up to which the index was whole.
        var since: Int64
        /// The store's commit when the pass began.
        var until: Int64
        /// The last conversation that is done.
        var last: Int64 = 0
    }

    /// Opens the index beside a store's file.
    ///
    /// - Throws: `internal-error` where nothing can be written there.
    package init(_ store: SQLiteStore) throws(ChatError) {
        self.store = store
        do {
            index = try SearchIndex(directory: store.directory)
        } catch {
            throw ChatError(
                .internalError, "the search index in \(store.directory.path) can't be opened", cause: error)
        }
    }

    /// Closes the file; what is asked afterwards fails.
    package func close() throws { try index.close() }

    // MARK: Filling

    /// Takes a step towards having everything that was committed before the first of these steps.
    ///
    /// - Returns: whether there is more to do.
    package func catchUp() throws -> Bool {
        try watching {
            let current = try pass.withLock { $0 } ?? begin()
            guard let next = try conversation(after: current) else {
                try index.write { try $0.setWatermark(current.until) }
                pass.withLock { $0 = nil }
                return false
            }
            let hasMore = try step(next)
            pass.withLock { pass in
                pass = current
                if !hasMore { pass?.last = next }
            }
            return true
        } ?? true
    }

    /// Takes a step towards having all messages of a conversation.
    ///
    /// - Returns: whether there is more to do.
    package func catchUp(_ conversation: Int64) throws -> Bool {
        try watching { try step(conversation) } ?? false
    }

    /// Has messages as they are now: edited ones, or recalled ones without their content.
    package func index(_ rows: [MessageRow], in conversation: Int64) throws {
        _ = try watching { try index.write { try $0.put(rows.map(\.searchRow), in: conversation) } }
    }

    /// Removes what was said at a run of places, from its newest end.
    ///
    /// - Returns: whether there is more to do.
    package func remove(_ places: SeqRange, in conversation: Int64) throws -> Bool {
        let scope = SearchScope(conversation: conversation, places: places)
        return try watching { try index.write { try !$0.remove(scope, limit: Self.batch) } } ?? false
    }

    /// How far a conversation is indexed.
    package func progress(of conversation: Int64) throws -> SearchProgress? {
        try watching { try index.read { try $0.progress(of: conversation) } } ?? nil
    }

    // MARK: Finding

    /// The next matches of a question; none where the index turned out to be damaged, until it is filled again.
    ///
    /// - Parameter scopes: what the reader may see, each place in one of them only.
    package func find(
        _ terms: SearchTerms, in scopes: [SearchScope], sort: SearchSort, after position: SearchPosition?, limit: Int
    ) throws -> SearchMatches {
        try watching {
            try index.read { try $0.find(terms, in: scopes, sort: sort, after: position, limit: limit) }
        } ?? SearchMatches()
    }

    // MARK: Steps

    /// - Returns: nothing when the index was damaged, and has begun anew.
    private func watching<Answer>(_ body: () throws -> Answer) throws -> Answer? {
        do {
            return try body()
        } catch is SearchIndexLost {
            pass.withLock { $0 = nil }
            return nil
        }
    }

    private func begin() throws -> Pass {
        // The store's generation is kept where a conversation's epoch would be, of one there is none of: a store restored
        // from a backup has another, and counts its commits anew.
        let generation = Epoch(rawValue: store.generation)
        let until = store.moved
        let since = try index.write { writer in
            if try writer.reader.progress(of: 0)?.epoch == generation { return try writer.reader.watermark() }
            try writer.setWatermark(0)
            try writer.setProgress(SearchProgress(epoch: generation, seq: 0, rev: 0), of: 0)
            return 0
        }
        return Pass(since: since, until: until)
    }

    private func conversation(after pass: Pass) throws -> Int64? {
        try store.readConnection { connection in
            var found: Int64?
            let sql = "SELECT number FROM conversation WHERE number > ? AND moved > ? ORDER BY number LIMIT 1"
            try connection.run(once: sql) {
                $0.add(pass.last)
                $0.add(pass.since)
            } row: { columns in
                found = columns.integer()
                return false
            }
            return found
        }
    }

    /// Adds the next messages of a conversation, or removes what is of another log or below the floor.
    private func step(_ number: Int64) throws -> Bool {
        let known = try index.read { try $0.progress(of: number) }
        let (conversation, rows) = try store.read { reader in
            let row = try reader.conversation(numbered: number)
            guard let row, row.epoch(in: store.generation) == known?.epoch || known == nil else {
                return (row, [MessageRow]())
            }
            let next = max(known?.seq ?? 0, row.firstSeq - 1) + 1
            guard next <= row.head else { return (row, []) }
            return (
                row,
                try reader.messages(
                    in: number, next...row.head, newestFirst: false, limit: Self.batch, filter: .all, reader: "-")
            )
        }
        return try index.write { writer in
            let isThere = conversation?.isDeleted == false
            let epoch = conversation?.epoch(in: store.generation)
            guard let conversation, let epoch, isThere, known == nil || known?.epoch == epoch else {
                let isEmpty = try writer.remove(SearchScope(conversation: number), limit: Self.batch)
                if isEmpty { try writer.setProgress(nil, of: number) }
                return !isEmpty || isThere
            }
            try writer.put(rows.map(\.searchRow), in: number)
            let isFull = rows.count == Self.batch
            let seq = isFull ? rows.last?.seq ?? conversation.head : conversation.head
            let progress = SearchProgress(epoch: epoch, seq: max(seq, known?.seq ?? 0), rev: known?.rev ?? 0)
            try writer.setProgress(progress, of: number)
            guard conversation.firstSeq > 1 else { return isFull }
            let gone = SearchScope(conversation: number, places: 1...(conversation.firstSeq - 1))
            return try !writer.remove(gone, limit: Self.batch) || isFull
        }
    }
}

extension MessageRow {
    /// The row as it is to be found: nothing of what was recalled.
    fileprivate var searchRow: SearchRow {
        let content = content.map { MessageContent(known: type, json: $0) }
        return SearchRow(seq: seq, time: timetoken, text: SearchableText.of(content))
    }
}
