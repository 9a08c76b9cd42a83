import Foundation
package import ScrollbackModel
package import ScrollbackWire

extension Engine {
    /// Returns the presence of users, as far as the caller may know it.
    ///
    /// Users appear as offline if they have blocked the caller, if the caller has blocked them, or if they don't share
    /// their presence.
    ///
    /// - Throws: `feature-off`, and `invalid-parameter` if there are no users or more than a page.
    package func presence(of users: [UserID], by caller: Caller) throws -> PresenceList {
        try settings.people.checkPresence()
        try checkCount(of: users)
        return try store.read { store in
            var seen: Set<UserID> = []
            return PresenceList(
                try users.filter { seen.insert($0).inserted }
                    .map { ($0, try presence(of: $0, for: caller.user, store)) })
        }
    }

    private func presence(of user: UserID, for watcher: UserID, _ store: any StoreReader) throws -> Presence {
        if try user != watcher && (store.hasBlocked(user, watcher) || store.hasBlocked(watcher, user)) {
            return Presence(isOnline: false)
        }
        if presenceTracker.isOnline(user) || isOnlineElsewhere(user) { return Presence(isOnline: true) }
        return Presence(isOnline: false, lastSeen: try store.lastSeen(of: user))
    }

    /// Notifies watchers of users who have been offline for a while, and stores when those users were last seen.
    ///
    /// Call this a few times per second, on a thread that may block.
    package func notifyWatchersOfOfflineUsers() {
        let now = clock()
        presenceTracker.runNotification { [self] in recordOffline(presenceTracker.takeOfflineUsers(now: now)) }
    }

    /// Stores when users were last seen who went offline a moment ago, because the server stops.
    package func recordAllOffline() {
        let now = clock()
        presenceTracker.runNotification { [self] in
            recordOffline(presenceTracker.takeOfflineUsers(now: now, grace: -.infinity))
        }
    }

    private func recordOffline(_ offlineUsers: [(user: UserID, at: Date)]) {
        for entry in offlineUsers { connectionsChanged(of: entry.user) }
        let offlineUsers = offlineUsers.filter { !isOnlineElsewhere($0.user) }
        guard !offlineUsers.isEmpty, settings.people.presence else { return }
        let gone = offlineUsers.map { entry in
            (user: entry.user, at: Date(timeIntervalSince1970: entry.at.timeIntervalSince1970.rounded(.down)))
        }
        // The rows are part of the next batch; watchers are notified without waiting for it.
        commits.submit(
            for: .server,
            { transaction in
                for entry in gone {
                    // Erasing a user closes their connections, and the time of that must not be stored.
                    let state = try transaction.store.user(entry.user)?.state
                    if state == .erasing || state == .erased { continue }
                    try transaction.store.put(lastSeen: entry.at, of: entry.user)
                }
            }
        ) { _ in }
        for entry in gone { notifyWatchers(Presence(isOnline: false, lastSeen: entry.at), of: entry.user) }
    }

    /// Sends a user's presence to the connections that watch the user.
    func notifyWatchers(_ presence: Presence, of user: UserID) {
        let watchers = presenceTracker.watchers(of: user)
        guard !watchers.isEmpty, settings.people.presence else { return }
        let excludedUsers = try? store.read { store in
            Set(try store.blockers(of: user, limit: Self.maximumBlockers))
                .union(try store.blocked(by: user, after: nil, limit: BlockUser.maximumBlocked))
        }
        guard let excludedUsers else { return }
        hub.send(.presence(user, presence), to: watchers.filter { !excludedUsers.contains($0.user) })
    }

    /// Sends two users each other's presence after one has blocked or unblocked the other.
    ///
    /// This happens with the next tick, because the writer thread, which calls this, must not wait for the store.
    func notifyPresence(between a: UserID, and b: UserID) {
        guard settings.people.presence else { return }
        presenceTracker.enqueueNotification { [self] in
            for (user, watcher) in [(a, b), (b, a)] {
                let connections = presenceTracker.watchers(of: user).filter { $0.user == watcher }
                guard !connections.isEmpty,
                    let presence = try? store.read({ try presence(of: user, for: watcher, $0) })
                else { continue }
                hub.send(.presence(user, presence), to: connections)
            }
        }
    }
}

extension Engine {
    /// Whether no presence is stored; used by tests.
    package var isPresenceEmpty: Bool { presenceTracker.isEmpty }
}
