import Logging
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import ServiceLifecycle

/// Keeps the index of words in step with the log: all of it after a start, and what moved a few times a second from then on.
///
/// A search waits for what it is about by itself, so this only spares it the wait.
struct Indexing: Service {
    let search: SQLiteSearch
    let logger: Logger

    /// How long commits are collected: what is indexed together costs less.
    private static let pause: Duration = .milliseconds(250)
    /// How long after a failure it is tried again.
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
            logger.error("indexing failed", metadata: ["code": "\(ChatError(wrapping: error).code)"])
            try? await Task.sleep(for: Self.retreat)
        }
    }
}
