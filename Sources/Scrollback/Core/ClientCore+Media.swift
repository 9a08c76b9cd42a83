import Foundation
import ScrollbackModel
import Synchronization

/// Tokens for requests that go beside the connection.
extension ClientCore {
    /// Does something with a token: the one the connection was opened with, and once more with a fresh one when that is
    /// refused.
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
                error as? ChatError ?? ChatError(.unreachable, "the app's token could not be had", cause: error)
            // As for the connection: an app's own server that is down for a while is no reason to give up.
            failure.isTemporary = true
            throw failure
        }
        currentToken.withLock { $0 = fresh }
        return try await body(fresh)
    }

    /// Removes files that no row knows, left by a crash, and what is above the limit.
    func tidyFiles() async {
        let hashes = files.hashes(olderThan: clock().addingTimeInterval(-3600))
        files.removePartials(olderThan: clock().addingTimeInterval(-7 * 24 * 3600))
        try? await store.write { [files] writer in
            for hash in try writer.reader.unknownFiles(hashes) { files.remove(hash) }
            try writer.forgetPartials { files.sizeOfPartial($0) > 0 }
        }
        await makeRoom()
    }

    /// Removes what was used longest ago until the rest is within the limit.
    func makeRoom(keeping kept: String? = nil) async {
        let limit = mediaSettings.cacheSize
        try? await store.write { [files] writer in
            for hash in try writer.forgetFiles(above: limit, keeping: kept) { files.remove(hash) }
        }
    }

    /// Removes every file that is neither waiting to be sent nor being fetched.
    func removeFiles() async throws(ChatError) {
        let fetched = downloads.keys
        files.removePartials(but: fetched)
        try await store.write { [files] writer in
            for hash in try writer.forgetFiles(above: -1) { files.remove(hash) }
            try writer.forgetPartials { fetched.contains($0) }
        }
    }
}
