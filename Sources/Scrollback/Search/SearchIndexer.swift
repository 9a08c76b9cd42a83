import Foundation
import Logging
package import ScrollbackModel
package import ScrollbackSearch
import ScrollbackWords

/// Keeps the index of a store's words in step with its rows: soon after they change, and at the latest before a search.
///
/// The transaction that changes rows notes their places. Here these are read as they are by now, made so in the index, and
/// then crossed off. Being killed in between means to do it once more, which changes nothing; and where the two files do not
/// agree on how many steps were done, everything is looked at again.
package actor SearchIndexer {
    private let store: LocalStore
    private let logger: Logger
    private var index: SearchIndex?
    private var state: IndexingState?
    /// The last work that was begun; the next begins after it.
    private var last: Task<Result<SearchIndex, ChatError>, Never>?
    private var background: Task<Void, Never>?
    private var isClosed = false
    /// Its transactions take a while, which no thread of the concurrency pool should.
    private let queue = DispatchQueue(label: "scrollback.search", qos: .utility)

    /// How many messages a transaction indexes.
    private static let batch = 500
    /// How long changes are collected before they are indexed.
    private static let pause: Duration = .seconds(1)

    init(store: LocalStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// Begins to follow the store's changes.
    func start() {
        background = Task { [weak self, writes = store.writes] in
            for await _ in writes {
                try? await Task.sleep(for: Self.pause)
                guard !Task.isCancelled else { return }
                await self?.follow()
            }
        }
    }

    private func follow() async {
        // It is made when somebody searches, and not for each start of the app.
        if store.isSealed, index == nil { return }
        do {
            _ = try await caughtUp()
        } catch {
            logger.debug("the search index is behind: \(error)")
        }
    }

    func close() async {
        isClosed = true
        background?.cancel()
        _ = await last?.value
        try? index?.close()
        index = nil
    }

    /// The index, with everything that was stored before this was called, of one conversation at least or of all.
    package func caughtUp(with conversation: Int64? = nil) async throws(ChatError) -> SearchIndex {
        let previous = last
        let task = Task { () async -> Result<SearchIndex, ChatError> in
            _ = await previous?.value
            do throws(ChatError) {
                return .success(try await catchUp(with: conversation))
            } catch {
                return .failure(error)
            }
        }
        last = task
        return try await task.value.get()
    }

    private func catchUp(with conversation: Int64?) async throws(ChatError) -> SearchIndex {
        // An index that turns out to be damaged begins anew, once.
        for _ in 0..<2 {
            let index = try await openIndex()
            guard try await agree(with: index) else { continue }
            // What comes meanwhile may come faster than it can be indexed.
            let last = try await store.read { try $0.lastUnindexed() }
            while let last, try await step(index, through: last, of: conversation) {}
            if state != nil { return index }
        }
        throw ChatError(.localStorage, "the search index is damaged again and again")
    }

    private func openIndex() async throws(ChatError) -> SearchIndex {
        if isClosed { throw ClientCore.closed }
        if let index { return index }
        // The words of a sealed store are in no file.
        let opened = try await perform { [store] in try SearchIndex(directory: store.isSealed ? nil : store.directory) }
        guard let opened else { throw ClientCore.closed }
        index = opened
        return opened
    }

    /// Sees that the store and the index mean each other, and where they do not, has everything looked at again.
    private func agree(with index: SearchIndex) async throws(ChatError) -> Bool {
        if state?.identity == index.identity { return true }
        guard let steps = try await perform({ try index.read { try $0.watermark() } }) else { return false }
        let found = IndexingState(identity: index.identity, steps: steps)
        let known = try await store.read { try $0.indexingState() }
        // The index hears of a step first, so it may be one ahead, which is then done again.
        let areInStep = known?.identity == found.identity && known.map { 0...1 ~= steps - $0.steps } == true
        if !areInStep { try await store.write(tellsRecents: false) { try $0.indexEverything(found) } }
        state = found
        return true
    }

    /// - Returns: whether there may be more to do.
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
        try await store.write(tellsRecents: false) { try $0.finish(done, next) }
        state = next
        return true
    }

    /// - Returns: the steps as far as they went: rows that are gone are many sometimes.
    private static func write(
        _ steps: [IndexingStep], _ state: IndexingState, to index: SearchIndex
    ) throws -> [IndexingStep] {
        try index.write { writer in
            var done = steps
            for position in done.indices {
                let run = done[position].run
                let scope = SearchScope(conversation: run.conversation, places: done[position].places)
                if let lowest = try writer.reader.lowest(ofNewest: 2 * batch, in: scope) {
                    done[position].cut(at: lowest)
                }
                let places = SearchScope(conversation: run.conversation, places: done[position].places)
                try writer.replace(places, with: done[position].rows)
            }
            try writer.setWatermark(state.steps)
            return done
        }
    }

    /// Works on the index.
    ///
    /// - Returns: nothing when it was damaged, and has begun anew.
    private func perform<Answer: Sendable>(
        _ body: @escaping @Sendable () throws -> Answer
    ) async throws(ChatError) -> Answer? {
        let result: Result<Answer?, ChatError> = await withCheckedContinuation { continuation in
            queue.async {
                do {
                    continuation.resume(returning: .success(try body()))
                } catch is SearchIndexLost {
                    continuation.resume(returning: .success(nil))
                } catch {
                    let failure = ChatError(.localStorage, "the search index failed", cause: error)
                    continuation.resume(returning: .failure(failure))
                }
            }
        }
        return try result.get()
    }

    /// Asks the index, with everything that was stored before this was called.
    func find(
        _ terms: SearchTerms, in conversation: Int64?, sort: SearchSort, after position: SearchPosition?, limit: Int
    ) async throws(ChatError) -> SearchMatches {
        for _ in 0..<2 {
            let index = try await caughtUp(with: conversation)
            let scopes = conversation.map { [SearchScope(conversation: $0)] }
            let found = try await perform {
                try index.read {
                    try $0.find(terms, in: scopes, sort: sort, after: position, limit: limit)
                }
            }
            if let found { return found }
        }
        throw ChatError(.localStorage, "the search index is damaged again and again")
    }
}
