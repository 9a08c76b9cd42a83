import Dispatch
package import Foundation
package import ScrollbackEngine
package import ScrollbackModel
package import ScrollbackSearch
package import TextAnalysis
import SQLiteSupport
import Synchronization

/// The search index of a store's messages, in `search.sqlite`, or in memory if the store is encrypted.
///
/// The index stores its progress for each conversation, as the newest indexed message and revision, in its own
/// transactions. After a crash or the loss of the file, it continues from there. It reads missing messages from the log
/// and the change log, in steps of bounded time and memory. All steps run on one serial queue, in the background
/// (``indexPendingCommits()``) and for searches that wait (``catchUp(with:within:completion:)``).
///
/// Matches are only candidates. The engine checks the current rows, so an outdated index never reveals hidden messages.
package final class SQLiteSearch: MessageIndex {
    private let store: any MessageStore
    private let index: SearchIndex
    /// The queue for index transactions, which are too slow for the writer and the readers of the log.
    private let queue = DispatchQueue(label: "scrollback.search", qos: .utility)
    private let state = Mutex(State())
    /// Emits an element after a commit.
    package let commits: AsyncStream<Void>
    private let commit: AsyncStream<Void>.Continuation

    /// The limits of one step, which is one transaction of the index, in messages or changes, and in approximate bytes.
    private static let batch = 2_000
    private static let batchBytes = 1 << 20
    /// The maximum number of conversations of one step.
    private static let maximumConversations = 200
    /// The number of messages up to which a conversation is read together with others.
    private static let maximumPart = 200
    /// The maximum number of waiting searches; further ones are answered from the current index.
    private static let maximumWaiting = 32

    private struct State {
        var isClosed = false
        var waiting = 0
        /// A pass over all conversations that changed since the index was last complete.
        var pass: Pass?
        /// Whether a pass has completed since the index was opened; from then on, commits report changes.
        var hasCompletedPass = false
        /// The conversations that commits changed, and the last of these commits.
        var changedConversations: Set<ConversationID> = []
        var lastCommit: Int64 = 0
        /// The numbers of the conversations being processed, and the commit that is indexed when none is left.
        var current: ArraySlice<Int64> = []
        var indexedCommit: Int64 = 0
    }

    /// The state of a pass.
    private struct Pass {
        /// The commit up to which the index was complete.
        var since: Int64
        /// The store's commit at the start of the pass.
        var until: Int64
        /// The last completed conversation.
        var last: Int64 = 0
    }

    /// Opens the index beside a store's file.
    ///
    /// - Throws: `internal-error` if the file can't be written.
    package convenience init(_ store: SQLiteStore) throws(ChatError) {
        try self.init(store, in: store.directory, isEncrypted: store.cipher != nil)
    }

    /// Opens the index of a store in a directory.
    ///
    /// - Parameter isEncrypted: Whether the store encrypts texts. The index is then in memory.
    /// - Throws: `internal-error` if the file can't be written.
    package init(_ store: any MessageStore, in directory: URL, isEncrypted: Bool = false) throws(ChatError) {
        self.store = store
        (commits, commit) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        do {
            if isEncrypted { try SearchIndex.erase(in: directory) }
            index = try SearchIndex(directory: isEncrypted ? nil : directory)
        } catch {
            throw ChatError(.internalError, "The search index in \(directory.path) can't be opened.", cause: error)
        }
    }

    /// Waits for the running step and closes the file; later calls fail.
    package func close() throws {
        state.withLock { $0.isClosed = true }
        commit.finish()
        queue.sync {}
        try index.close()
    }

    // MARK: In the background

    package func committed(_ conversations: Set<ConversationID>, lastCommit: Int64) {
        state.withLock { state in
            state.changedConversations.formUnion(conversations)
            state.lastCommit = lastCommit
        }
        commit.yield()
    }

    /// Indexes what was committed before, and leaves later commits to the next call.
    ///
    /// While messages are sent all the time, each step would otherwise have only a few of them.
    ///
    /// Ends early if the task is cancelled, a step fails, or the index is lost and must be built again.
    package func indexPendingCommits() async throws {
        try await repeatOnQueue { try self.stepOfFirstPass() }
        // What the call before has left.
        try await repeatOnQueue { try self.stepOfCurrentConversations() }
        try await repeatOnQueue {
            try self.takeChangedConversations()
            return false
        }
        try await repeatOnQueue { try self.stepOfCurrentConversations() }
    }

    /// Executes a step until it returns that no work remains.
    private func repeatOnQueue(_ step: @escaping @Sendable () throws -> Bool) async throws {
        while !Task.isCancelled {
            let result: Result<Bool, any Error> = await withCheckedContinuation { continuation in
                queue.async { [self] in
                    continuation.resume(returning: Result { try !state.withLock { $0.isClosed } && step() })
                }
            }
            guard try result.get() else { return }
        }
    }

    // Each of the following steps returns whether more work remains.

    private func stepOfFirstPass() throws -> Bool {
        if state.withLock({ $0.hasCompletedPass }) { return false }
        if try passStep() { return true }
        state.withLock { $0.hasCompletedPass = true }
        return false
    }

    private func stepOfCurrentConversations() throws -> Bool {
        let (current, commit) = state.withLock { ($0.current, $0.indexedCommit) }
        guard !current.isEmpty else { return false }
        guard let completed = try handlingIndexReset({ try step(current, completing: commit) }) else { return false }
        return state.withLock { state in
            state.current = state.current.dropFirst(completed)
            return !state.current.isEmpty
        }
    }

    /// Makes the conversations current that commits changed since the last time.
    private func takeChangedConversations() throws {
        let (isBusy, changed, commit) = state.withLock { state in
            (!state.current.isEmpty, state.changedConversations, state.lastCommit)
        }
        guard !isBusy, !changed.isEmpty else { return }
        let numbers = try store.read { try Self.numbers(of: changed, in: $0) }
        state.withLock { state in
            // Steps read these conversations later, so changes from the meantime are indexed too.
            state.changedConversations.subtract(changed)
            state.current = numbers[...]
            state.indexedCommit = commit
        }
    }

    private static func numbers(of conversations: Set<ConversationID>, in store: any StoreReader) throws -> [Int64] {
        var rest = Array(conversations)[...]
        var numbers: [Int64] = []
        while !rest.isEmpty {
            var reads = ExpectedReads()
            reads.conversations = Array(rest.prefix(maximumConversations))
            try store.readAhead(reads)
            numbers += try reads.conversations.compactMap { try store.conversation($0)?.number }
            rest = rest.dropFirst(maximumConversations)
        }
        return numbers
    }

    /// Executes one step of a pass over everything that was committed before the pass started.
    ///
    /// - Returns: Whether more work remains.
    package func catchUp() throws -> Bool {
        try queue.sync { try passStep() }
    }

    private func passStep() throws -> Bool {
        try handlingIndexReset {
            let current = try state.withLock { $0.pass } ?? startPass()
            let next = try conversations(after: current)
            guard !next.isEmpty else {
                try index.write { try $0.setWatermark(current.until) }
                state.withLock { $0.pass = nil }
                return false
            }
            let completed = next.prefix(try step(next))
            state.withLock { state in
                state.pass = current
                if let last = completed.last { state.pass?.last = last }
            }
            return true
        } ?? true
    }

    // MARK: Before a search

    package func isComplete(_ conversations: [ConversationRow]) throws -> Bool {
        try handlingIndexReset {
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
        let isAccepted = state.withLock { state in
            guard !state.isClosed, state.waiting < Self.maximumWaiting else { return false }
            state.waiting += 1
            return true
        }
        guard isAccepted else { return completion(false) }
        advance(conversations[...], until: .now + time) { [self] isComplete in
            state.withLock { $0.waiting -= 1 }
            completion(isComplete)
        }
    }

    /// Executes one step for a search; steps of other searches and of the background run in between.
    private func advance(
        _ conversations: ArraySlice<ConversationRow>, until end: ContinuousClock.Instant,
        completion: @escaping @Sendable (Bool) -> Void
    ) {
        queue.async { [self] in
            var outdated = conversations
            do {
                while let first = outdated.first, try isComplete([first]) { outdated.removeFirst() }
                guard !outdated.isEmpty else { return completion(true) }
                guard ContinuousClock.now < end, !state.withLock({ $0.isClosed }) else { return completion(false) }
                let completed = try handlingIndexReset { try step(outdated.map(\.number)[...]) } ?? 0
                outdated = outdated.dropFirst(completed)
                advance(outdated, until: end, completion: completion)
            } catch {
                completion(false)
            }
        }
    }

    /// Returns the indexing progress of a conversation.
    package func progress(of conversation: Int64) throws -> SearchProgress? {
        try handlingIndexReset { try index.read { try $0.progress(of: conversation) } } ?? nil
    }

    // MARK: Finding

    package func find(
        _ terms: SearchTerms, in scopes: [SearchScope], sort: SearchSort, after position: SearchPosition?, limit: Int,
        _ store: any StoreReader, until deadline: WorkDeadline
    ) throws -> SearchMatches? {
        try handlingIndexReset {
            try index.read(until: deadline) {
                try $0.find(terms, in: scopes, sort: sort, after: position, limit: limit)
            }
        }
    }

    // MARK: Steps

    /// Runs `body` and handles the loss of the index.
    ///
    /// - Returns: `nil` if the index was damaged and restarted.
    private func handlingIndexReset<Answer>(_ body: () throws -> Answer) throws -> Answer? {
        do {
            return try body()
        } catch is SearchIndexReset {
            state.withLock { state in
                state.pass = nil
                state.hasCompletedPass = false
            }
            commit.yield()
            return nil
        }
    }

    private func startPass() throws -> Pass {
        // Progress entry 0 has the store's generation as its epoch. A restored store has another generation and counts
        // commits from the start.
        let generation = Epoch(rawValue: store.generation)
        let until = try store.lastCommit
        let since = try index.write { writer in
            if try writer.reader.progress(of: 0)?.epoch == generation { return try writer.reader.watermark() }
            try writer.setWatermark(0)
            try writer.setProgress(SearchProgress(epoch: generation, seq: 0, rev: 0), of: 0)
            return 0
        }
        return Pass(since: since, until: until)
    }

    private func conversations(after pass: Pass) throws -> ArraySlice<Int64> {
        try store.read { reader in
            try reader.conversationNumbers(
                after: pass.last, committedAfter: pass.since, limit: Self.maximumConversations)[...]
        }
    }

    /// Executes one step, which indexes conversations in turn until a limit of the step is reached.
    ///
    /// - Parameter commit: The commit that is indexed once all of the conversations are complete.
    /// - Returns: The number of conversations, from the first, for which no work remains.
    private func step(_ conversations: ArraySlice<Int64>, completing commit: Int64? = nil) throws -> Int {
        try store.read { reader in
            try index.write { writer in
                var (room, bytes) = (Self.batch, Self.batchBytes)
                var completed = 0
                let next = conversations.prefix(Self.maximumConversations)
                let progress = try next.map { try writer.reader.progress(of: $0) }
                let rows = try readAhead(next, progress, reader)
                for ((number, known), row) in zip(zip(next, progress), rows) where room > 0 && bytes > 0 {
                    let step = try IndexingStep(
                        row, known, generation: store.generation, batch: room, bytes: bytes, reader)
                    if try apply(step, to: number, known, writer) { break }
                    completed += 1
                    room -= step.count
                    bytes -= step.bytes
                }
                if let commit, completed == conversations.count { try writer.setWatermark(commit) }
                return completed
            }
        }
    }

    /// Returns the rows of conversations, and reads ahead what a step probably needs of their logs.
    private func readAhead(
        _ conversations: ArraySlice<Int64>, _ progress: [SearchProgress?], _ store: any StoreReader
    ) throws -> [ConversationRow?] {
        var reads = ExpectedReads()
        reads.numbers = Array(conversations)
        try store.readAhead(reads)
        let rows = try conversations.map { try store.conversation(numbered: $0) }
        var logs = ExpectedReads()
        var room = Self.batch
        for case (let row?, let known) in zip(rows, progress) where room > 0 {
            guard let log = IndexingStep.log(of: row, known, generation: self.store.generation) else { continue }
            room -= log.places?.count ?? 0
            // A long part is read by a query of its own.
            if log.places?.count ?? 0 <= Self.maximumPart { logs.logs.append(log) }
        }
        try store.readAhead(logs)
        return rows
    }

    /// Writes the changes of one conversation.
    ///
    /// - Returns: Whether more work remains.
    private func apply(
        _ step: IndexingStep, to number: Int64, _ known: SearchProgress?, _ writer: SearchWriter
    ) throws -> Bool {
        guard var progress = step.progress else {
            // The log has another epoch or no longer has the missed changes: remove its entries and read it again.
            let isEmpty = try writer.remove(SearchScope(conversation: number), limit: Self.batch)
            if isEmpty, known != nil { try writer.setProgress(nil, of: number) }
            return !isEmpty || known != nil && step.hasMore
        }
        var hasMore = step.hasMore
        try writer.put(step.changes, in: number)
        if let (places, rows) = step.additions {
            try writer.replace(SearchScope(conversation: number, range: places), with: rows)
        }
        if let removal = step.removal {
            let scope = SearchScope(conversation: number, range: removal.places)
            if try writer.remove(scope, limit: Self.batch) { progress.rev = removal.rev } else { hasMore = true }
        }
        if step.firstSeq > 1 {
            let deleted = SearchScope(conversation: number, range: 1...(step.firstSeq - 1))
            if try !writer.remove(deleted, limit: Self.batch) { hasMore = true }
        }
        if progress != known { try writer.setProgress(progress, of: number) }
        return hasMore
    }
}
