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
        let isStreamed = rooms.admit(message, now: clock())
        guard let audience = audience(of: id) else { return }
        let frame = ServerEvent.message(message).encoded()
        guard isStreamed else { return audience.deliver(frame, to: message.sender, except: origin) }
        let substitute = message.attributes.priority == .low ? HeadFrame(LogMark(message), of: id) : nil
        audience.deliver(frame, except: origin, orElse: substitute)
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
