import Foundation
import Logging
import ScrollbackModel
import ScrollbackWire

/// Observes the presence of users for the app.
extension Driver {
    func watch(_ users: Set<UserID>, isOn: Bool) {
        var changed: [UserID] = []
        for user in users.sorted() {
            let count = (watched[user] ?? 0) + (isOn ? 1 : -1)
            if isOn ? count == 1 : count == 0 { changed.append(user) }
            watched[user] = count > 0 ? count : nil
        }
        guard !changed.isEmpty else { return }
        if isOn {
            requestPresence(changed)
        } else {
            core.presence.set((core.presence.current ?? [:]).filter { watched[$0.key] != nil })
            for users in changed.chunks(of: FetchUsers.maximum) {
                send(FetchPresence(users: users, isOn: false), .nothing)
            }
        }
    }

    /// Requests the presence of users and its changes.
    func requestPresence(_ users: [UserID]) {
        for users in users.chunks(of: FetchUsers.maximum) {
            send(FetchPresence(users: users, isOn: true), .presence)
        }
    }

    func handlePresenceResponse(_ result: Result<[UInt8], ChatError>) {
        do {
            var reader = try JSONReader(try result.get())
            receivedPresence(try PresenceList(from: &reader).entries)
        } catch {
            core.logger.info("Presence could not be requested.", metadata: ["code": "\(error.code)"])
            guard error.isTemporary else { return }
            retriesPresence = true
            retry(after: error)
        }
    }

    func receivedPresence(_ people: [(user: UserID, presence: Presence)]) {
        var known = core.presence.current ?? [:]
        for person in people where watched[person.user] != nil { known[person.user] = person.presence }
        core.presence.set(known)
    }
}
