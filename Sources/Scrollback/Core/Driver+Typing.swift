import Foundation
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// Sends this user's typing signals, and tracks the typing signals of others.
extension Driver {
    func typing(in id: ConversationID, isTyping: Bool) {
        // Typing signals are not sent later, so they are dropped while offline.
        guard connection != nil else { return }
        if isTyping ? ownTyping.typed(in: id, now: now) : ownTyping.stopped(in: id) {
            send(SignalTyping(conversation: id, isTyping: isTyping), .nothing)
        }
        scheduleTyping()
    }

    func receivedTyping(_ user: UserID, in id: ConversationID, isTyping: Bool) {
        if typingUsers.received(user, in: id, isTyping: isTyping, now: now) { publishTyping([id]) }
        scheduleTyping()
    }

    /// Ends a user's typing state after a message from them.
    func messageReceived(from user: UserID, in id: ConversationID) {
        if typingUsers.messageReceived(from: user, in: id) { publishTyping([id]) }
    }

    func tickTyping(now: Date) {
        if let wake = typingWake, wake <= now { typingWake = nil }
        for id in ownTyping.tick(now: now) { send(SignalTyping(conversation: id, isTyping: false), .nothing) }
        publishTyping(typingUsers.tick(now: now))
        scheduleTyping()
    }

    func resetTyping() {
        ownTyping = OwnTyping()
        publishTyping(typingUsers.disconnected())
    }

    private func publishTyping(_ ids: [ConversationID]) {
        for id in ids { core.typing.set(typingUsers.users(in: id), of: id) }
    }

    private func scheduleTyping() {
        guard let next = [ownTyping.next, typingUsers.next].compactMap({ $0 }).min(),
            typingWake.map({ next < $0 }) ?? true
        else { return }
        typingWake = next
        wake(at: next)
    }
}
