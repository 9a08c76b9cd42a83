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
            throw error as? ChatError ?? ChatError(.unreachable, "the app's token could not be had", cause: error)
        }
        currentToken.withLock { $0 = fresh }
        return try await body(fresh)
    }

    /// Removes files that no row knows, left by a crash, and what is above the limit.
    func tidyFiles() async {
        let hashes = files.hashes(olderThan: clock().addingTimeInterval(-3600))
        guard let unknown = try? await store.read({ try $0.unknownFiles(hashes) }) else { return }
        for hash in unknown { files.remove(hash) }
        files.removePartials(olderThan: clock().addingTimeInterval(-7 * 24 * 3600))
        await makeRoom()
    }

    /// Removes what was used longest ago until the rest is within the limit.
    func makeRoom(keeping kept: String? = nil) async {
        let limit = mediaSettings.cacheSize
        guard let gone = try? await store.write({ try $0.forgetFiles(above: limit, keeping: kept) }) else { return }
        for hash in gone { files.remove(hash) }
    }
}
