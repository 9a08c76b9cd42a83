import Foundation
import ScrollbackModel
import Synchronization

/// Access tokens for HTTP requests, and the file cache.
extension ClientCore {
    /// Runs `body` with the current token, and again with a new token if the server rejects the current one.
    func withToken<Answer: Sendable>(
        _ body: (String) async throws(ChatError) -> Answer
    ) async throws(ChatError) -> Answer {
        if let known = currentToken.withLock({ $0 }) {
            do throws(ChatError) {
                return try await body(known)
            } catch  where [.invalidToken, .tokenExpired].contains(error.code) {
                currentToken.withLock { if $0 == known { $0 = nil } }
            }
        }
        let fresh: String
        do {
            fresh = try await token()
        } catch {
            var failure =
                error as? ChatError ?? ChatError(.unreachable, "The app's token provider failed.", cause: error)
            // As for the connection, a failing token provider is a temporary condition.
            failure.isTemporary = true
            throw failure
        }
        currentToken.withLock { $0 = fresh }
        return try await body(fresh)
    }

    /// Deletes files that a crash left without a database row, old partial downloads, and files above the cache limit.
    func cleanUpFiles() async {
        let hashes = files.hashes(olderThan: clock().addingTimeInterval(-3600))
        files.removePartials(olderThan: clock().addingTimeInterval(-7 * 24 * 3600))
        try? await store.write { [files] writer in
            for hash in try writer.reader.unknownFiles(hashes) { files.remove(hash) }
            try writer.deletePartialRecords { files.sizeOfPartial($0) > 0 }
        }
        await evictFiles()
    }

    /// Evicts the least recently used files until the cache is within its limit.
    func evictFiles(keeping kept: String? = nil) async {
        let limit = mediaSettings.cacheSize
        try? await store.write { [files] writer in
            for hash in try writer.evictFileRecords(above: limit, keeping: kept) { files.remove(hash) }
        }
    }

    /// Deletes every cached file and partial download, except files that are queued for sending or being downloaded.
    func removeFiles() async throws(ChatError) {
        let fetched = downloads.keys
        files.removePartials(but: fetched)
        try await store.write { [files] writer in
            for hash in try writer.evictFileRecords(above: -1) { files.remove(hash) }
            try writer.deletePartialRecords { fetched.contains($0) }
        }
    }
}
