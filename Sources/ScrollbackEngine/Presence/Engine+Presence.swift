import Foundation
package import ScrollbackModel
package import ScrollbackWire

extension Engine {
    /// Whether people are there, as far as the caller may know: of who has blocked them, or whom they have blocked,
    /// nothing is told, and of who does not share it there is nothing to tell.
    ///
    /// - Throws: `feature-off`; `invalid-parameter` for none or more than a page of people.
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
        if presenceBoard.isOnline(user) { return Presence(isOnline: true) }
        return Presence(isOnline: false, lastSeen: try store.lastSeen(of: user))
    }

    /// Tells whoever asked of people who have been gone for a while, and writes down when they went.
    ///
    /// Called a few times a second, on a thread that may wait.
    package func tellWhoLeft() {
        let now = clock()
        presenceBoard.tell { [self] in left(presenceBoard.takeGone(now: now)) }
    }

    /// Writes down when those went who left a moment ago: the server stops, and nobody will be back.
    package func tellAllLeft() {
        let now = clock()
        presenceBoard.tell { [self] in left(presenceBoard.takeGone(now: now, grace: -.infinity)) }
    }

    private func left(_ people: [(user: UserID, at: Date)]) {
        guard !people.isEmpty, settings.people.presence else { return }
        let gone = people.map { person in
            (user: person.user, at: Date(timeIntervalSince1970: person.at.timeIntervalSince1970.rounded(.down)))
        }
        // One row each, with whatever else is written then; who watches need not wait for it.
        log.submit({ transaction in
            for person in gone {
                // Erasing somebody closes their connections: when that was is not to be left of them.
                let state = try transaction.store.user(person.user)?.state
                if state == .erasing || state == .erased { continue }
                try transaction.store.put(lastSeen: person.at, of: person.user)
            }
        }) { _ in }
        for person in gone { tell(Presence(isOnline: false, lastSeen: person.at), of: person.user) }
    }

    /// - Parameter presence: what is so now.
    func tell(_ presence: Presence, of user: UserID) {
        let watchers = presenceBoard.watchers(of: user)
        guard !watchers.isEmpty, settings.people.presence else { return }
        let deaf = try? store.read { store in
            Set(try store.blockers(of: user, limit: Self.mostBlockers))
                .union(try store.blocked(by: user, after: nil, limit: Self.mostBlocked))
        }
        guard let deaf else { return }
        hub.send(.presence(user, presence), to: watchers.filter { !deaf.contains($0.user) })
    }

    /// Tells two people who watch each other what they may know from now on: one of them has blocked the other, or does so
    /// no more.
    ///
    /// With the next tick: the log's writer, which says so, must not wait for the store.
    func tellPresence(between a: UserID, and b: UserID) {
        guard settings.people.presence else { return }
        presenceBoard.tellLater { [self] in
            for (user, watcher) in [(a, b), (b, a)] {
                let connections = presenceBoard.watchers(of: user).filter { $0.user == watcher }
                guard !connections.isEmpty,
                    let presence = try? store.read({ try presence(of: user, for: watcher, $0) })
                else { continue }
                hub.send(.presence(user, presence), to: connections)
            }
        }
    }
}

extension Engine {
    /// Whether nothing is known of who is there: what tests look for once everybody left.
    package var isPresenceForgotten: Bool { presenceBoard.isEmpty }
}
