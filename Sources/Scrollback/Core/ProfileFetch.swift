import ScrollbackModel
import ScrollbackWire
import Synchronization

/// Fetches the profiles that a list or a timeline lacks, in one request at a time.
final class ProfileFetch: Sendable {
    private let core: ClientCore
    private let isRunning = Mutex(false)

    init(_ core: ClientCore) { self.core = core }

    /// Returns whether ``run(_:)`` must be called: some profiles are outdated, and no request is in progress.
    func begin(_ outdated: Set<UserID>) -> Bool {
        guard !outdated.isEmpty else { return false }
        return isRunning.withLock { isRunning in
            defer { isRunning = true }
            return !isRunning
        }
    }

    /// Fetches profiles until it succeeds or the task is cancelled, and notifies all observers.
    func run(_ outdated: Set<UserID>) async {
        let users = Array(outdated.sorted().prefix(FetchUsers.maximum))
        while !Task.isCancelled {
            do {
                try await core.fetchProfiles(users)
                break
            } catch {
                try? await Task.sleep(for: .seconds(5))
            }
        }
        isRunning.withLock { $0 = false }
        core.changes.changedAnything()
    }
}
