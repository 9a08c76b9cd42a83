import Foundation
import ScrollbackModel
import ScrollbackWire
import Synchronization

/// Records whether the stored profile of the client's user is the server's current one.
///
/// The server announces a change of the profile to the devices that are connected at that moment. After each connection
/// the profile can therefore be outdated.
final class OwnProfile: Sendable {
    private let state = Mutex(State())

    private struct State {
        var isCurrent = false
        /// Increases whenever an answer that was requested before must not be stored.
        var version = 0
    }

    /// The version to pass to ``accept(_:)`` with the server's answer; `nil` if the stored profile is current.
    var neededVersion: Int? { state.withLock { $0.isCurrent ? nil : $0.version } }

    /// Records that the stored profile can be outdated.
    func invalidate() {
        state.withLock { state in
            state.isCurrent = false
            state.version += 1
        }
    }

    /// Records that the server announced the profile, before it is stored.
    func announced() {
        state.withLock { state in
            state.isCurrent = true
            state.version += 1
        }
    }

    /// Returns whether to store the answer to a request, which is newer than everything stored.
    func accept(_ version: Int) -> Bool {
        state.withLock { state in
            guard state.version == version else { return false }
            state.isCurrent = true
            return true
        }
    }
}

extension ClientCore {
    /// Fetches the user's own profile if the stored one can be outdated.
    ///
    /// Errors of the server are ignored, since the stored profile remains. Without a connection nothing is requested,
    /// unless no profile is stored.
    func refreshOwnProfile() async throws(ChatError) {
        guard let version = ownProfile.neededVersion else { return }
        let user = user
        let isMissing = try await store.read { try !$0.profiles([user], fetchedSince: .distantPast).outdated.isEmpty }
        let isOnline = if case .online? = connection.current { true } else { false }
        guard isOnline || isMissing, let answer = try? await perform(FetchUsers(users: [user])) else { return }
        let now = clock()
        try await store.write { [ownProfile] writer in
            if ownProfile.accept(version) { try writer.save(answer.users, of: [user], now: now) }
        }
    }

    /// Stores the user's own profile as the server announced it.
    func saveAnnouncedProfile(_ profile: UserProfile) async throws(ChatError) {
        let now = clock()
        ownProfile.announced()
        try await store.write { try $0.save([profile], of: [profile.id], now: now) }
        changes.changedAnything()
    }
}
