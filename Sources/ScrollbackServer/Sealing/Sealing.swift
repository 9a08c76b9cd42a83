import Foundation
import Logging
import NIOPosix
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import ServiceLifecycle
import StoreFiles

/// Seals what was written before the store had its newest key, or takes the seals off, while the server serves.
struct Sealing: Service {
    let store: SQLiteStore
    let media: DiskMediaStore
    let threads: NIOThreadPool
    let logger: Logger

    /// How often it is said how far it is.
    var telling: Duration = .seconds(10)
    /// How long until it is looked again for uploads to end, or until it is tried again.
    private static let pause: Duration = .seconds(60)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    if try await sealAll() {
                        // A service that ends would end the server.
                        try await gracefulShutdown()
                        return
                    }
                } catch is CancellationError {
                    return
                } catch {
                    let error = ChatError(wrapping: error)
                    logger.error("sealing failed", metadata: ["code": "\(error.code)", "reason": "\(error.message)"])
                }
                try? await Task.sleep(for: Self.pause)
            }
        }
    }

    /// - Returns: whether nothing is left to do.
    private func sealAll() async throws -> Bool {
        guard let progress = try store.sealingProgress(), !progress.isDone else { return true }
        let key = progress.key.map { "\($0)" } ?? "none"
        logger.notice("sealing the store", metadata: ["key": "\(key)", "done": "\(percent(progress.fraction))"])
        let clock = ContinuousClock()
        var told = clock.now
        while try await step() {
            try Task.checkCancellation()
            guard clock.now - told > telling else { continue }
            told = clock.now
            let fraction = try store.sealingProgress()?.fraction ?? 1
            logger.notice("sealing the store", metadata: ["key": "\(key)", "done": "\(percent(fraction))"])
        }
        // One that ends while the files are gone through would be kept as it was begun.
        let isLast = try await !media.hasOlderUploads()
        var after: BlobID?
        repeat {
            after = try await media.sealSome(after: after)
            try Task.checkCancellation()
        } while after != nil
        guard isLast else {
            logger.notice("uploads that were begun before are waited for", metadata: ["key": "\(key)"])
            return false
        }
        try await threads.blocking { [store] () throws(ChatError) in
            do {
                try store.finishSealing()
            } catch {
                throw ChatError(wrapping: error)
            }
        }
        // They may leave the file of keys.
        let older = progress.olderKeys.map { "\($0)" }.joined(separator: ", ")
        logger.notice("the store is sealed", metadata: ["key": "\(key)", "retired": "\(older)"])
        return true
    }

    /// Some rows; then the writer has as long for others.
    private func step() async throws -> Bool {
        let clock = ContinuousClock()
        let start = clock.now
        let isMore = try await threads.blocking { [store] () throws(ChatError) in
            do {
                return try store.sealSome()
            } catch {
                throw ChatError(wrapping: error)
            }
        }
        try? await Task.sleep(for: clock.now - start)
        return isMore
    }

    private func percent(_ fraction: Double) -> String { "\(Int(fraction * 100)) %" }
}
