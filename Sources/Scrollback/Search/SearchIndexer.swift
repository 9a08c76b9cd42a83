import Foundation
import Logging
package import ScrollbackModel
package import ScrollbackSearch
import TextAnalysis

/// Keeps the search index in sync with the store's rows: shortly after they change, and at the latest before a search.
///
/// A transaction that changes rows records their ranges. The indexer reads the current rows, writes them to the index,
/// and then deletes the records. After a crash in between it repeats the step, which is idempotent. If the numbers of
/// completed steps in the two files don't match, it indexes everything again.
package actor SearchIndexer {
    private let store: LocalStore
    private let logger: Logger
    private var index: SearchIndex?
    private var state: IndexingState?
    /// The most recent task; the next one starts after it.
    private var last: Task<Result<SearchIndex, ChatError>, Never>?
    private var background: Task<Void, Never>?
    private var isClosed = false
    /// Index transactions are slow and would block a thread of the concurrency pool.
    private let queue = DispatchQueue(label: "scrollback.search", qos: .utility)

    /// The number of messages that one transaction indexes.
    private static let batch = 500
    /// The time for which changes are collected before they are indexed.
    private static let pause: Duration = .seconds(1)

    init(store: LocalStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// Starts to index changes of the store.
    func start() {
        background = Task { [weak self, writes = store.writes] in
            for await _ in writes {
                try? await Task.sleep(for: Self.pause)
                guard !Task.isCancelled else { return }
                await self?.indexRecentChanges()
            }
        }
    }

    private func indexRecentChanges() async {
        // An index in memory is created by the first search, not at each start of the app.
        if store.isEncrypted, index == nil { return }
        do {
            _ = try await upToDateIndex()
        } catch {
            logger.debug("The search index could not be updated: \(error)")
        }
    }

    func close() async {
        isClosed = true
        background?.cancel()
        _ = await last?.value
        try? index?.close()
        index = nil
    }

    /// Returns the index, after indexing everything that was stored before the call.
    ///
    /// - Parameter conversation: The only conversation to index; `nil` for all.
    package func upToDateIndex(for conversation: Int64? = nil) async throws(ChatError) -> SearchIndex {
        let previous = last
        let task = Task { () async -> Result<SearchIndex, ChatError> in
            _ = await previous?.value
            do throws(ChatError) {
                return .success(try await updateIndex(for: conversation))
            } catch {
                return .failure(error)
            }
        }
        last = task
        return try await task.value.get()
    }

    private func updateIndex(for conversation: Int64?) async throws(ChatError) -> SearchIndex {
        // A damaged index is rebuilt once.
        for _ in 0..<2 {
            let index = try await openIndex()
            guard try await checkConsistency(with: index) else { continue }
            // Stop at the current end, because new changes may arrive faster than they can be indexed.
            let last = try await store.read { try $0.lastUnindexedID() }
            while let last, try await step(index, through: last, of: conversation) {}
            if state != nil { return index }
        }
        throw ChatError(.localStorage, "The search index is repeatedly damaged.")
    }

    private func openIndex() async throws(ChatError) -> SearchIndex {
        if isClosed { throw ClientCore.closed }
        if let index { return index }
        // The index of an encrypted store must not be written to a file.
        let opened = try await perform { [store] in
            try SearchIndex(directory: store.isEncrypted ? nil : store.directory)
        }
        guard let opened else { throw ClientCore.closed }
        index = opened
        return opened
    }

    /// Checks that the index belongs to the store and is in sync with it; otherwise schedules everything for indexing.
    private func checkConsistency(with index: SearchIndex) async throws(ChatError) -> Bool {
        if state?.identity == index.identity { return true }
        guard let steps = try await perform({ try index.read { try $0.watermark() } }) else { return false }
        let found = IndexingState(identity: index.identity, steps: steps)
        let known = try await store.read { try $0.indexingState() }
        // The index is written first, so it may be one step ahead. That step is repeated.
        let isConsistent = known?.identity == found.identity && known.map { 0...1 ~= steps - $0.steps } == true
        if !isConsistent { try await store.write(notifiesRecents: false) { try $0.indexEverything(found) } }
        state = found
        return true
    }

    /// - Returns: Whether more steps may follow.
    private func step(
        _ index: SearchIndex, through last: Int64, of conversation: Int64?
    ) async throws(ChatError) -> Bool {
        if isClosed { throw ClientCore.closed }
        guard let known = state else { return false }
        let read = try await store.read {
            try $0.indexingSteps(through: last, of: conversation, limit: Self.batch)
        }
        guard !read.isEmpty else { return false }
        let next = IndexingState(identity: known.identity, steps: known.steps + 1)
        let done = try await perform { try Self.write(read, next, to: index) }
        guard let done, next.identity == index.identity else {
            state = nil
            return false
        }
        try await store.write(notifiesRecents: false) { try $0.finish(done, next) }
        state = next
        return true
    }

    /// - Returns: The parts of the steps that were written. Steps with many deleted rows are cut short.
    private static func write(
        _ steps: [IndexingStep], _ state: IndexingState, to index: SearchIndex
    ) throws -> [IndexingStep] {
        try index.write { writer in
            var done = steps
            for position in done.indices {
                let run = done[position].run
                let scope = SearchScope(conversation: run.conversation, range: done[position].places)
                if let lowest = try writer.reader.lowest(ofNewest: 2 * batch, in: scope) {
                    done[position].cut(at: lowest)
                }
                let places = SearchScope(conversation: run.conversation, range: done[position].places)
                try writer.replace(places, with: done[position].rows)
            }
            try writer.setWatermark(state.steps)
            return done
        }
    }

    /// Runs an operation on the index's queue.
    ///
    /// - Returns: The result, or `nil` if the index was damaged and has been reset.
    private func perform<Answer: Sendable>(
        _ body: @escaping @Sendable () throws -> Answer
    ) async throws(ChatError) -> Answer? {
        let result: Result<Answer?, ChatError> = await withCheckedContinuation { continuation in
            queue.async {
                do {
                    continuation.resume(returning: .success(try body()))
                } catch is SearchIndexReset {
                    continuation.resume(returning: .success(nil))
                } catch {
                    let failure = ChatError(.localStorage, "The search index failed.", cause: error)
                    continuation.resume(returning: .failure(failure))
                }
            }
        }
        return try result.get()
    }

    /// Searches the index, after indexing everything that was stored before the call.
    func find(
        _ terms: SearchTerms, in conversation: Int64?, sort: SearchSort, after position: SearchPosition?, limit: Int
    ) async throws(ChatError) -> SearchMatches {
        for _ in 0..<2 {
            let index = try await upToDateIndex(for: conversation)
            let scopes = conversation.map { [SearchScope(conversation: $0)] }
            let found = try await perform {
                try index.read {
                    try $0.find(terms, in: scopes, sort: sort, after: position, limit: limit)
                }
            }
            if let found { return found }
        }
        throw ChatError(.localStorage, "The search index is repeatedly damaged.")
    }
}
