import Logging
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import ServiceLifecycle

/// Keeps the search index up to date: indexes everything after a start, then new commits a few times a second.
///
/// Searches wait for the index if necessary. This service only shortens that wait.
struct Indexing: Service {
    let search: SQLiteSearch
    let logger: Logger

    /// How long commits are collected before they are indexed, because larger batches cost less.
    private static let pause: Duration = .milliseconds(250)
    /// The delay before a retry after a failure.
    private static let retreat: Duration = .seconds(10)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await follow()
            for await _ in search.commits {
                try? await Task.sleep(for: Self.pause)
                await follow()
            }
        }
    }

    private func follow() async {
        do {
            try await search.follow()
        } catch {
            logger.error("Updating the search index failed.", metadata: ["code": "\(ChatError(wrapping: error).code)"])
            try? await Task.sleep(for: Self.retreat)
        }
    }
}
