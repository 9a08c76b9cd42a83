import ScrollbackModel
import ScrollbackWire
import Synchronization

/// The presence of this connection's user, and the users it watches.
extension Session {
    /// The maximum number of users that one connection can watch.
    static let mostWatched = 1000
    /// The maximum number of presence requests of one connection that can wait.
    private static let mostPresenceQuestions = 16

    /// Reports the user as online after the connection was opened or returned to the foreground.
    func isHere() {
        engine.presenceBoard.tell { [self] in
            guard sharesNow else { return }
            let isNews = engine.presenceBoard.came(self)
            // If the session ended in the meantime, nothing else would report it.
            if !sharesNow { isGone() }
            if isNews { engine.tell(Presence(isOnline: true), of: user) }
        }
    }

    package var isInForeground: Bool { state.withLock { $0.isActive && $0.isOpen } }

    private var sharesNow: Bool { state.withLock { $0.sharesPresence && $0.isActive && $0.isOpen } }

    /// Reports that the connection closed or moved to the background.
    func isGone() {
        guard state.withLock({ $0.sharesPresence }) else { return }
        engine.presenceBoard.went(self, now: engine.clock())
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
            for user in gone { engine.presenceBoard.unwatch(user, by: self) }
            return completion(.success(nil))
        }
        let mayAsk = state.withLock { state in
            guard state.presenceQuestions < Self.mostPresenceQuestions else { return false }
            state.presenceQuestions += 1
            return true
        }
        guard mayAsk else {
            return completion(
                .failure(
                    ChatError(.rateLimited, "Too many presence requests wait for an answer.", retryAfter: 1)))
        }
        do {
            // Watches are added in the order of the frames, because a later frame may remove them.
            if isOn == true { try watch(users) }
        } catch {
            state.withLock { $0.presenceQuestions -= 1 }
            return completion(.failure(error))
        }
        services.offload { [self] in
            // Answers go through the same queue as events, so that an answer never follows an event that is newer.
            engine.presenceBoard.tell { [self] in
                let result = Result { () -> PresenceList? in try engine.presence(of: users, by: caller) }
                state.withLock { $0.presenceQuestions -= 1 }
                completion(result.mapError(ChatError.init(wrapping:)))
            }
        }
    }

    private func watch(_ users: [UserID]) throws(ChatError) {
        try engine.settings.people.checkPresence()
        let isAll: Bool = state.withLock { state in
            let watched = state.watched.union(users)
            guard state.isOpen else { return true }
            guard watched.count <= Self.mostWatched else { return false }
            for user in watched.subtracting(state.watched) { engine.presenceBoard.watch(user, by: self) }
            state.watched = watched
            return true
        }
        guard isAll else {
            throw .invalidParameter(
                "users", "must not exceed \(Self.mostWatched) watched users per connection",
                limit: Self.mostWatched)
        }
    }
}
