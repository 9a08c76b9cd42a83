import Foundation
public import ScrollbackModel
import ScrollbackWire

extension ChatClient {
    /// Returns the user's own profile, including changes that the server has not accepted yet.
    ///
    /// While the client is connected, it is the server's current profile. Otherwise it is the one this device knows.
    ///
    /// - Throws: `local-storage`.
    public func profile() async throws(ChatError) -> UserProfile {
        try await core.refreshOwnProfile()
        return try await core.store.read { [user] reader in
            let stored = try reader.profiles([user], fetchedSince: .distantPast).profiles[user]
            return try reader.applyingQueuedChanges(to: stored ?? UserProfile(id: user))
        }
    }

    /// Changes the user's own profile, on all of their devices and for everyone who sees them.
    ///
    /// Returns once the change is stored durably on this device. The client then sends it automatically, across
    /// restarts. The returned handle reports the result.
    ///
    /// - Parameters:
    ///   - name: The new display name, at most 128 bytes of UTF-8. An empty text removes it, `nil` keeps it.
    ///   - avatar: The new `http` or `https` URL of the picture, at most 2,048 bytes of UTF-8. An empty text removes
    ///     it, `nil` keeps it.
    ///   - metadata: A new application-defined JSON object of at most 32 KiB; `nil` keeps the current one.
    ///   - isInvitationOnly: Whether other users may only invite this user, and not add them to groups and communities;
    ///     `nil` keeps the setting.
    /// - Throws: `invalid-parameter` or `too-large` if a value is invalid. `local-storage`. The server can still refuse
    ///   the change, for example with `content-rejected` because of the name.
    @discardableResult
    public func updateProfile(
        name: String? = nil, avatar: String? = nil, metadata: RawJSON? = nil, isInvitationOnly: Bool? = nil
    ) async throws(ChatError) -> SendHandle {
        let request = PutUser(
            user: user,
            ProfileChange(name: name, avatar: avatar, metadata: metadata, isInvitationOnly: isInvitationOnly))
        try request.validate()
        let handle = try await core.queue(.putUser(request), core.newID(), in: core.ownConversation)
        core.changes.changedAnything()
        return handle
    }

    /// Returns the profiles of users, from this device if it has them from the last hour, or else from the server.
    ///
    /// - Parameter users: At most 1,000 users.
    /// - Returns: The profiles of the users who have one. Without a connection, those that this device knows.
    /// - Throws: `invalid-parameter` for more than 1,000 users. `local-storage`.
    public func profiles(of users: Set<UserID>) async throws(ChatError) -> [UserID: UserProfile] {
        guard users.count <= 1000 else {
            throw .invalidParameter("users", "must contain at most 1000 users", limit: 1000)
        }
        return try await core.people(users)
    }
}

extension ClientCore {
    /// The conversation whose outbox queue has the changes of the user's profile.
    var ownConversation: ConversationID { .direct(user) }
}
