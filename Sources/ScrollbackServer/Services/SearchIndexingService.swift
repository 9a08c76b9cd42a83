import Logging
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import ServiceLifecycle

/// Keeps the search index up to date: indexes everything after a start, then new commits once a second.
///
/// Searches wait for the index if necessary. This service only shortens that wait.
struct SearchIndexingService: Service {
    let search: SQLiteSearch
    let logger: Logger

    /// How long commits are collected before they are indexed, because larger batches cost less.
    ///
    /// A search does not wait for it: it indexes what it needs itself.
    private static let batchingDelay: Duration = .seconds(1)
    /// The delay before a retry after a failure.
    private static let retryDelay: Duration = .seconds(10)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await updateIndex()
            for await _ in search.commits {
                try? await Task.sleep(for: Self.batchingDelay)
                await updateIndex()
            }
        }
    }

    private func updateIndex() async {
        do {
            try await search.indexPendingCommits()
        } catch {
            logger.error("Updating the search index failed.", metadata: ["code": "\(ChatError(wrapping: error).code)"])
            try? await Task.sleep(for: Self.retryDelay)
        }
    }
}
