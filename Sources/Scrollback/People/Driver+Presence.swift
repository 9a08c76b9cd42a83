import Foundation
import Logging
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// Carries out the actions of ``WatchedUsers``, and publishes the presence of users to the app.
extension Driver {
    func perform(_ actions: [PresenceAction]) {
        for action in actions {
            switch action {
            case .request(let users): send(FetchPresence(users: users, isOn: true), .presence)
            case .end(let users):
                core.presence.set((core.presence.current ?? [:]).filter { watchedUsers.contains($0.key) })
                send(FetchPresence(users: users, isOn: false), .nothing)
            }
        }
    }

    func handlePresenceResponse(_ result: Result<[UInt8], ChatError>) {
        do {
            var reader = try JSONReader(try result.get())
            receivedPresence(try PresenceList(from: &reader).entries)
        } catch {
            core.logger.info("Presence could not be requested.", metadata: ["code": "\(error.code)"])
            watchedUsers.failed(error)
            retry(after: error)
        }
    }

    func receivedPresence(_ people: [(user: UserID, presence: Presence)]) {
        var known = core.presence.current ?? [:]
        for person in people where watchedUsers.contains(person.user) { known[person.user] = person.presence }
        core.presence.set(known)
    }
}
