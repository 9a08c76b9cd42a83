import ScrollbackModel
import ScrollbackWire
import Synchronization

/// The presence of this connection's user, and the users it watches.
extension Session {
    /// The maximum number of users that one connection can watch.
    static let maximumWatchedUsers = 1000
    /// The maximum number of presence requests of one connection that can wait.
    private static let maximumPendingPresenceRequests = 16

    /// Reports the user as online after the connection was opened or returned to the foreground.
    func reportOnline() {
        engine.presenceTracker.runNotification { [self] in
            guard isSharingPresence else { return }
            let wasOffline = engine.presenceTracker.connected(self)
            // If the session ended in the meantime, nothing else would report it.
            if !isSharingPresence { reportOffline() }
            engine.connectionsChanged(of: user)
            if wasOffline { engine.notifyWatchers(Presence(isOnline: true), of: user) }
        }
    }

    package var isInForeground: Bool { state.withLock { $0.isActive && $0.isOpen } }

    private var isSharingPresence: Bool { state.withLock { $0.sharesPresence && $0.isActive && $0.isOpen } }

    /// Reports that the connection closed or moved to the background.
    func reportOffline() {
        guard state.withLock({ $0.sharesPresence }) else { return }
        engine.presenceTracker.disconnected(self, now: engine.clock())
    }

    /// Gets the presence of users, and starts (`true`) or stops (`false`) watching them.
    ///
    /// Completes with `nil` after a request to stop watching.
    func presence(
        of users: [UserID], isOn: Bool?, by caller: Caller, completion: @escaping Engine.Completion<PresenceList?>
    ) {
        guard isOn != false else {
            let gone = state.withLock { state in
                defer { state.watched.subtract(users) }
                return state.watched.intersection(users)
            }
            for user in gone { engine.presenceTracker.unwatch(user, by: self) }
            return completion(.success(nil))
        }
        let isAccepted = state.withLock { state in
            guard state.pendingPresenceRequests < Self.maximumPendingPresenceRequests else { return false }
            state.pendingPresenceRequests += 1
            return true
        }
        guard isAccepted else {
            return completion(
                .failure(
                    ChatError(.rateLimited, "Too many presence requests wait for an answer.", retryAfter: 1)))
        }
        do {
            // Watches are added in the order of the frames, because a later frame may remove them.
            if isOn == true { try watch(users) }
        } catch {
            state.withLock { $0.pendingPresenceRequests -= 1 }
            return completion(.failure(error))
        }
        services.offload(.read, WorkOwner(caller)) { [self] in
            // Answers go through the same queue as events, so that an answer never follows an event that is newer.
            engine.presenceTracker.runNotification { [self] in
                let result = Result { () -> PresenceList? in try engine.presence(of: users, by: caller) }
                state.withLock { $0.pendingPresenceRequests -= 1 }
                completion(result.mapError(ChatError.init(wrapping:)))
            }
        }
    }

    private func watch(_ users: [UserID]) throws(ChatError) {
        try engine.settings.people.checkPresence()
        let isAll: Bool = state.withLock { state in
            let watched = state.watched.union(users)
            guard state.isOpen else { return true }
            guard watched.count <= Self.maximumWatchedUsers else { return false }
            for user in watched.subtracting(state.watched) { engine.presenceTracker.watch(user, by: self) }
            state.watched = watched
            return true
        }
        guard isAll else {
            throw .invalidParameter(
                "users", "must not exceed \(Self.maximumWatchedUsers) watched users per connection",
                limit: Self.maximumWatchedUsers)
        }
    }
}
