import ScrollbackModel
import ScrollbackWire
import Synchronization

/// That this connection's user is there, and who it wants to hear of.
extension Session {
    /// The most people one connection watches.
    static let mostWatched = 1000
    /// The most questions of one connection that wait for their turn.
    private static let mostPresenceQuestions = 16

    /// The connection is open, or in the foreground again: others may be told.
    func isHere() {
        engine.presenceBoard.tell { [self] in
            guard sharesNow else { return }
            let isNews = engine.presenceBoard.came(self)
            // Closed meanwhile: nobody will say so again.
            if !sharesNow { isGone() }
            if isNews { engine.tell(Presence(isOnline: true), of: user) }
        }
    }

    package var isInForeground: Bool { state.withLock { $0.isActive && $0.isOpen } }

    private var sharesNow: Bool { state.withLock { $0.sharesPresence && $0.isActive && $0.isOpen } }

    /// It is in the background, or closed.
    func isGone() {
        guard state.withLock({ $0.sharesPresence }) else { return }
        engine.presenceBoard.went(self, now: engine.clock())
    }

    func presence(of users: [UserID], isOn: Bool?, _ ref: Int64, _ caller: Caller) {
        guard isOn != false else {
            let gone = state.withLock { state in
                defer { state.watched.subtract(users) }
                return state.watched.intersection(users)
            }
            for user in gone { engine.presenceBoard.unwatch(user, by: self) }
            return answer(ref, .success(())) { _, _ in }
        }
        let mayAsk = state.withLock { state in
            guard state.presenceQuestions < Self.mostPresenceQuestions else { return false }
            state.presenceQuestions += 1
            return true
        }
        guard mayAsk else {
            return answer(ref, ChatError(.rateLimited, "answers of presence are still to come", retryAfter: 1))
        }
        do {
            // Here, in the order of the frames: a later one may say that nobody is to be watched any more.
            if isOn == true { try watch(users) }
        } catch {
            state.withLock { $0.presenceQuestions -= 1 }
            return answer(ref, error)
        }
        services.offload { [self] in
            // In the order in which changes are told: an answer that is older than an event never comes after it.
            engine.presenceBoard.tell { [self] in
                let result = Result { try engine.presence(of: users, by: caller) }
                state.withLock { $0.presenceQuestions -= 1 }
                answer(ref, result.mapError(ChatError.init(wrapping:))) { $1.writeMembers(to: &$0) }
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
                "users", "must be so few that this connection watches \(Self.mostWatched) in all",
                limit: Self.mostWatched)
        }
    }
}
