import Logging
import NIOPosix
import ScrollbackEngine
import ScrollbackModel
import ServiceLifecycle

/// Reads the secrets of tokens from the database, so that this node accepts the tokens of the other nodes.
struct SharedSecretsService: Service {
    let tokens: TokenService
    let store: any SecretsStore
    let threads: NIOThreadPool
    let logger: Logger

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            var isFailing = false
            while true {
                try await Task.sleep(for: SecretRotator.interval)
                isFailing = await read(wasFailing: isFailing)
            }
        }
    }

    /// - Returns: Whether the secrets could not be read, or not be written to `secrets.json`.
    private func read(wasFailing: Bool) async -> Bool {
        do {
            let own = try tokens.encodedSecrets()
            let start = ContinuousClock.now
            let shared = try await threads.runIfActive { [store] in try store.secrets(orStore: own) }
            if try await tokens.useShared(shared, readAt: start) {
                logger.warning(
                    """
                    secrets.json was changed, and has the secrets of all nodes again. Replace the secret with \
                    `scrollback cluster rotate-secret`.
                    """)
            }
            if wasFailing { logger.notice("The node can read the secrets of tokens again.") }
            return false
        } catch {
            if !wasFailing {
                logger.warning(
                    "The secrets of tokens could not be read from the database and written to secrets.json.",
                    metadata: ["reason": "\(ChatError(wrapping: error).message)"])
            }
            return true
        }
    }
}
