import Foundation
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// Who types: this user, as the server is told, and others, as the app is told.
extension Driver {
    func typing(in id: ConversationID, isTyping: Bool) {
        // Whoever is not connected types for nobody.
        guard connection != nil else { return }
        if isTyping ? ownTyping.typed(in: id, now: now) : ownTyping.stopped(in: id) {
            send(.typing(id, isTyping: isTyping), .nothing)
        }
        scheduleTyping()
    }

    func heard(_ user: UserID, in id: ConversationID, isTyping: Bool) {
        if typingPeople.heard(user, in: id, isTyping: isTyping, now: now) { tellTyping([id]) }
        scheduleTyping()
    }

    /// A message of somebody came.
    func said(by user: UserID, in id: ConversationID) {
        if typingPeople.said(by: user, in: id) { tellTyping([id]) }
    }

    func tickTyping() {
        if let wake = typingWake, wake <= now { typingWake = nil }
        for id in ownTyping.tick(now: now) { send(.typing(id, isTyping: false), .nothing) }
        tellTyping(typingPeople.tick(now: now))
        scheduleTyping()
    }

    func forgetTyping() {
        ownTyping = OwnTyping()
        tellTyping(typingPeople.disconnected())
    }

    private func tellTyping(_ ids: [ConversationID]) {
        for id in ids { core.typing.set(typingPeople.users(in: id), of: id) }
    }

    private func scheduleTyping() {
        guard let next = [ownTyping.next, typingPeople.next].compactMap({ $0 }).min(),
            typingWake.map({ next < $0 }) ?? true
        else { return }
        typingWake = next
        wake(at: next)
    }
}
