import Foundation
package import ScrollbackModel
import ScrollbackWire
import Synchronization

extension Hub {
    /// How many messages of rooms were stored and not streamed, since the start.
    package var messagesLeftOut: Int { rooms.leftOut.load(ordering: .relaxed) }

    /// Streams a room's message, or leaves it out where the room has more to say than it may stream.
    ///
    /// Its sender's other devices get it in any case.
    func stream(_ message: Message, except origin: Origin?) {
        let id = message.conversation
        guard rooms.admit(message, now: clock()) else {
            return send(.message(message), to: otherHearers(of: id, of: message.sender, than: origin))
        }
        guard let audience = audience(of: id) else { return }
        let substitute = message.attributes.priority == .low ? HeadFrame(LogMark(message).bare, of: id) : nil
        audience.deliver(ServerEvent.message(message).encoded(), except: origin, orElse: substitute)
    }

    /// Whether a message that is not stored is streamed: it is gone where its room has more to say than it may stream, but
    /// for its sender's other devices.
    func streams(_ message: TransientMessage, except origin: Origin?) -> Bool {
        let id = message.conversation
        guard id.kind.traits.streamsUnderLoadByPriority,
            !rooms.admit(id, message.attributes.priority, orElse: nil, now: clock())
        else { return true }
        send(.transient(message), to: otherHearers(of: id, of: message.sender, than: origin))
        return false
    }

    /// Whether a change is streamed: where its room has more to say than it may stream, hearers are told soon that there were
    /// changes, once for all of them.
    func streams(_ change: LogChange, in id: ConversationID, _ mark: LogMark) -> Bool {
        !id.kind.traits.streamsUnderLoadByPriority || rooms.admit(id, .normal, orElse: mark, now: clock())
    }

    /// A user's connections that hear a room, looked for among theirs: the room may have very many.
    private func otherHearers(of id: ConversationID, of user: UserID, than origin: Origin?) -> [any Connection] {
        connections(of: user).filter { Origin($0) != origin && $0.hears(id) }
    }

    /// Tells who hears a room where it stands, when its newest messages were left out.
    func announceRooms() {
        for (id, mark) in rooms.takeBehind() {
            audience(of: id)?.deliver(mark.event(id).encoded(), except: nil)
        }
    }
}

/// What a connection that has too much to read already is told, later, in place of a message it can do without: where the
/// room stands.
package final class HeadFrame: Sendable {
    package let conversation: ConversationID
    private let mark: LogMark

    init(_ mark: LogMark, of conversation: ConversationID) {
        self.mark = mark
        self.conversation = conversation
    }

    package var encoded: [UInt8] { mark.event(conversation).encoded() }
}
