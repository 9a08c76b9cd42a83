import Foundation
import Logging
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import ServiceLifecycle
import SQLiteSupport

/// Encrypts or decrypts existing data in the background after the storage encryption keys change.
struct StorageEncryptionService: Service {
    let store: SQLiteStore
    let media: any ReencryptableMediaStore
    let threads: FileThreads
    let logger: Logger

    /// The interval between progress log messages.
    var progressInterval: Duration = .seconds(10)
    /// The delay before a retry, or before checking again whether earlier uploads have ended.
    private static let retryDelay: Duration = .seconds(60)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    if try await reencryptAll() {
                        // The service group treats the end of a service as the end of the server.
                        try await gracefulShutdown()
                        return
                    }
                } catch is CancellationError {
                    return
                } catch {
                    let error = ChatError(wrapping: error)
                    logger.error(
                        "Changing the storage encryption failed.",
                        metadata: ["code": "\(error.code)", "reason": "\(error.message)"])
                }
                try? await Task.sleep(for: Self.retryDelay)
            }
        }
    }

    /// Processes the whole store.
    ///
    /// - Returns: Whether all data is processed.
    private func reencryptAll() async throws -> Bool {
        guard let progress = try store.encryptionProgress(), !progress.isDone else { return true }
        let key = progress.key.map { "\($0)" } ?? "none"
        logger.notice(
            "Changing the storage encryption.", metadata: ["key": "\(key)", "done": "\(percent(progress.fraction))"])
        let clock = ContinuousClock()
        var lastLogged = clock.now
        while try await step() {
            try Task.checkCancellation()
            guard clock.now - lastLogged > progressInterval else { continue }
            lastLogged = clock.now
            let fraction = try store.encryptionProgress()?.fraction ?? 1
            logger.notice(
                "Changing the storage encryption.", metadata: ["key": "\(key)", "done": "\(percent(fraction))"])
        }
        // An upload that ends during the pass over the files would keep its old encryption.
        let isLast = try await !media.hasUploadsWithOlderKey()
        var after: BlobID?
        repeat {
            after = try await media.reencryptBlobs(after: after, limit: 50)
            try Task.checkCancellation()
        } while after != nil
        guard isLast else {
            logger.notice("Waiting for uploads that began with an older key.", metadata: ["key": "\(key)"])
            return false
        }
        try await threads.blocking { [store] () throws(ChatError) in
            do {
                try store.finishEncryption()
            } catch {
                throw ChatError(wrapping: error)
            }
        }
        // The operator may now remove the older keys from the key file.
        let older = progress.olderKeys.map { "\($0)" }.joined(separator: ", ")
        logger.notice("Changed the storage encryption.", metadata: ["key": "\(key)", "retired": "\(older)"])
        return true
    }

    /// Processes a batch of rows, then sleeps for the same time so that other writes get half of the writer's time.
    private func step() async throws -> Bool {
        let clock = ContinuousClock()
        let start = clock.now
        let isMore = try await threads.blocking { [store] () throws(ChatError) in
            do {
                return try store.encryptNextRows()
            } catch {
                throw ChatError(wrapping: error)
            }
        }
        try? await Task.sleep(for: clock.now - start)
        return isMore
    }

    private func percent(_ fraction: Double) -> String { "\(Int(fraction * 100)) %" }
}
