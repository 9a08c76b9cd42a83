import Dispatch
import Foundation
package import ScrollbackEngine
package import ScrollbackModel
package import ScrollbackSearch
package import ScrollbackWords
import StoreFiles
import Synchronization

/// The words of a store's messages, in `search.sqlite` beside it; in memory alone where the store seals its texts.
///
/// How far each conversation is indexed, by its newest message and its newest change, is kept in the index's own
/// transactions. So a crash at any moment, or a file that was dropped, means to go on from there: what the index has not, it
/// reads from the log and the change log, in steps that take bounded time and memory. Steps are taken one after the other
/// on a queue of its own, in the background (``follow()``) and for searches that wait (``catchUp(with:within:completion:)``).
///
/// Matches are proposals: the reader's rows decide, so being behind shows nothing that should not be seen.
package final class SQLiteSearch: MessageIndex {
    private let store: SQLiteStore
    private let index: SearchIndex
    /// Its transactions take a while, which neither the log's writer nor a reader should wait for.
    private let queue = DispatchQueue(label: "scrollback.search", qos: .utility)
    private let state = Mutex(State())
    /// Says that something was committed.
    package let commits: AsyncStream<Void>
    private let commit: AsyncStream<Void>.Continuation

    /// How many messages or changes, and about how many bytes of them, a step takes.
    private static let batch = 500
    private static let batchBytes = 1 << 20
    /// How many searches can wait at once: more are answered with what is there.
    private static let maximumWaiting = 32

    private struct State {
        var isClosed = false
        var waiting = 0
        /// A pass over everything that moved since the index was whole.
        var pass: Pass?
        /// Whether there was one since the index was opened: from then on commits say what moves.
        var hasPassed = false
        /// What commits touched, the last of them, and what is being looked at of that.
        var touched: Set<ConversationID> = []
        var moved: Int64 = 0
        var current: [ConversationID] = []
        var currentMoved: Int64 = 0
    }

    /// Where a pass is.
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
        (commits, commit) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        do {
            let isSealed = store.cipher != nil
            if isSealed { try SearchIndex.erase(in: store.directory) }
            index = try SearchIndex(directory: isSealed ? nil : store.directory)
        } catch {
            throw ChatError(
                .internalError, "the search index in \(store.directory.path) can't be opened", cause: error)
        }
    }

    /// Waits for the step under way and closes the file; what is asked afterwards fails.
    package func close() throws {
        state.withLock { $0.isClosed = true }
        commit.finish()
        queue.sync {}
        try index.close()
    }

    // MARK: In the background

    package func committed(_ conversations: Set<ConversationID>, moved: Int64) {
        state.withLock { state in
            state.touched.formUnion(conversations)
            state.moved = moved
        }
        commit.yield()
    }

    /// Indexes all there is, until there is nothing more, the task is cancelled, or a step fails.
    package func follow() async throws {
        while !Task.isCancelled {
            let result: Result<Bool, any Error> = await withCheckedContinuation { continuation in
                queue.async { continuation.resume(returning: Result { try self.backgroundStep() }) }
            }
            guard try result.get() else { return }
        }
    }

    /// - Returns: whether there is more to do.
    private func backgroundStep() throws -> Bool {
        if state.withLock({ $0.isClosed }) { return false }
        guard state.withLock({ $0.hasPassed }) else {
            if try !passStep() { state.withLock { $0.hasPassed = true } }
            return true
        }
        let next: ConversationID? = state.withLock { state in
            if state.current.isEmpty {
                state.current = Array(state.touched)
                state.currentMoved = state.moved
                state.touched = []
            }
            return state.current.last
        }
        guard let next else { return false }
        let number = try store.read { try $0.conversation(next)?.number }
        let hasMore = try number.map { number in try watching { try step(number) } ?? true } ?? false
        if hasMore { return true }
        let whole: Int64? = state.withLock { state in
            _ = state.current.popLast()
            return state.current.isEmpty ? state.currentMoved : nil
        }
        if let whole { _ = try watching { try index.write { try $0.setWatermark(whole) } } }
        return true
    }

    /// Takes a step towards having everything that was committed before the first of these steps.
    ///
    /// - Returns: whether there is more to do.
    package func catchUp() throws -> Bool {
        try queue.sync { try passStep() }
    }

    private func passStep() throws -> Bool {
        try watching {
            let current = try state.withLock { $0.pass } ?? begin()
            guard let next = try conversation(after: current) else {
                try index.write { try $0.setWatermark(current.until) }
                state.withLock { $0.pass = nil }
                return false
            }
            let hasMore = try step(next)
            state.withLock { state in
                state.pass = current
                if !hasMore { state.pass?.last = next }
            }
            return true
        } ?? true
    }

    // MARK: Before a search

    package func isWhole(_ conversations: [ConversationRow]) throws -> Bool {
        try watching {
            try index.read { reader in
                try conversations.allSatisfy { row in
                    guard let known = try reader.progress(of: row.number) else { return row.head < row.firstSeq }
                    return known.epoch == row.epoch(in: store.generation) && known.seq >= row.head
                        && known.rev >= row.rev
                }
            }
        } ?? false
    }

    package func catchUp(
        with conversations: [ConversationRow], within time: Duration, completion: @escaping @Sendable (Bool) -> Void
    ) {
        let isTaken = state.withLock { state in
            guard !state.isClosed, state.waiting < Self.maximumWaiting else { return false }
            state.waiting += 1
            return true
        }
        guard isTaken else { return completion(false) }
        advance(conversations[...], until: .now + time) { [self] isWhole in
            state.withLock { $0.waiting -= 1 }
            completion(isWhole)
        }
    }

    /// Takes a step for one search; others, and the background, take theirs in between.
    private func advance(
        _ conversations: ArraySlice<ConversationRow>, until end: ContinuousClock.Instant,
        completion: @escaping @Sendable (Bool) -> Void
    ) {
        queue.async { [self] in
            var behind = conversations
            do {
                while let first = behind.first, try isWhole([first]) { behind.removeFirst() }
                guard let first = behind.first else { return completion(true) }
                guard ContinuousClock.now < end, !state.withLock({ $0.isClosed }) else { return completion(false) }
                // Where nothing is left to do it is gone, or another by now.
                if try watching({ try step(first.number) }) == false { behind.removeFirst() }
                advance(behind, until: end, completion: completion)
            } catch {
                completion(false)
            }
        }
    }

    /// How far a conversation is indexed.
    package func progress(of conversation: Int64) throws -> SearchProgress? {
        try watching { try index.read { try $0.progress(of: conversation) } } ?? nil
    }

    // MARK: Finding

    package func find(
        _ terms: SearchTerms, in scopes: [SearchScope], sort: SearchSort, after position: SearchPosition?, limit: Int,
        _ store: any StoreReader
    ) throws -> SearchMatches? {
        try watching {
            try index.read { try $0.find(terms, in: scopes, sort: sort, after: position, limit: limit) }
        }
    }

    // MARK: Steps

    /// - Returns: nothing when the index was damaged, and has begun anew.
    private func watching<Answer>(_ body: () throws -> Answer) throws -> Answer? {
        do {
            return try body()
        } catch is SearchIndexLost {
            state.withLock { state in
                state.pass = nil
                state.hasPassed = false
            }
            commit.yield()
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

    /// Brings a conversation nearer to what its log is.
    ///
    /// - Returns: whether there is more to do.
    private func step(_ number: Int64) throws -> Bool {
        let known = try index.read { try $0.progress(of: number) }
        let step = try store.read { reader in
            try Step(number, known, generation: store.generation, batch: Self.batch, bytes: Self.batchBytes, reader)
        }
        return try index.write { writer in
            guard var progress = step.progress else {
                // Of another log, or of one whose changes are not known any more: it goes, and is read anew.
                let isEmpty = try writer.remove(SearchScope(conversation: number), limit: Self.batch)
                if isEmpty, known != nil { try writer.setProgress(nil, of: number) }
                return !isEmpty || known != nil && step.hasMore
            }
            var hasMore = step.hasMore
            try writer.put(step.rows, in: number)
            if let removal = step.removal {
                let scope = SearchScope(conversation: number, places: removal.places)
                if try writer.remove(scope, limit: Self.batch) { progress.rev = removal.rev } else { hasMore = true }
            }
            if step.firstSeq > 1 {
                let gone = SearchScope(conversation: number, places: 1...(step.firstSeq - 1))
                if try !writer.remove(gone, limit: Self.batch) { hasMore = true }
            }
            if progress != known { try writer.setProgress(progress, of: number) }
            return hasMore
        }
    }
}

/// What a step changes: read from one snapshot of the store.
private struct Step {
    /// How far the conversation is indexed after it; nothing where all of it must go.
    var progress: SearchProgress?
    /// Messages as they are now; those that are gone have no text.
    var rows: [SearchRow] = []
    /// A run of places that is gone, and the change that says so.
    var removal: (places: SeqRange, rev: Int64)?
    var firstSeq: Seq = 1
    var hasMore = false

    init(
        _ number: Int64, _ known: SearchProgress?, generation: UInt64, batch: Int, bytes: Int, _ store: any StoreReader
    ) throws {
        guard let row = try store.conversation(numbered: number), !row.isDeleted else { return }
        let epoch = row.epoch(in: generation)
        hasMore = true
        if let known, known.epoch != epoch || known.rev < row.changeFloor { return }
        firstSeq = row.firstSeq
        var gone = SeqRangeSet()
        if row.hasVoids { for void in try store.voids(of: nil, in: number) { gone.insert(void.places) } }

        // What is read below is as the newest change left it.
        var progress = known ?? SearchProgress(epoch: epoch, seq: 0, rev: row.rev)
        defer { self.progress = progress }
        if progress.rev < row.rev {
            let isDone = try readChanges(&progress, row, gone, batch: batch, bytes: bytes, store)
            guard isDone else { return }
            progress.rev = row.rev
        }
        let next = max(progress.seq, row.firstSeq - 1) + 1
        guard next <= row.head else {
            progress.seq = max(progress.seq, row.head)
            hasMore = false
            return
        }
        var room = PageRoom(messages: batch, bytes: bytes)
        let messages = try store.messages(
            in: number, next...row.head, newestFirst: false, room: &room, filter: .all, reader: UserID(known: ""))
        // What a range delete took is there yet, until it is swept.
        rows += messages.filter { !gone.contains($0.seq) }.map(\.searchRow)
        hasMore = room.isFull
        progress.seq = room.isFull ? messages.last?.seq ?? row.head : row.head
    }

    /// - Returns: whether those are all the changes there are.
    private mutating func readChanges(
        _ progress: inout SearchProgress, _ row: ConversationRow, _ gone: SeqRangeSet, batch: Int, bytes: Int,
        _ store: any StoreReader
    ) throws -> Bool {
        let changes = try store.changes(in: row.number, after: progress.rev, limit: batch)
        var seen: Set<Seq> = []
        var bytes = bytes
        for change in changes {
            if change.kind == .removal {
                removal = (change.places, change.rev)
                return false
            }
            let seq = change.places.lowerBound
            // What lies above is not indexed yet, and will be as it is then.
            if seq <= progress.seq, seen.insert(seq).inserted {
                let message = try store.message(at: seq, in: row.number)
                if let message, seq >= row.firstSeq, !gone.contains(seq) {
                    rows.append(message.searchRow)
                    bytes -= message.weight
                } else {
                    rows.append(SearchRow(seq: seq, time: Timetoken(rawValue: 0), text: nil))
                }
            }
            progress.rev = change.rev
            if bytes <= 0 { return false }
        }
        return changes.count < batch
    }
}

extension MessageRow {
    /// The row as it is to be found: nothing of what was recalled.
    fileprivate var searchRow: SearchRow { SearchRow(seq: seq, time: timetoken, text: searchableText) }
}
