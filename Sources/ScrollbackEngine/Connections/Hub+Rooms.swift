import Foundation
package import ScrollbackModel
import ScrollbackWire
import Synchronization

extension Hub {
    /// The number of room messages that were stored but not delivered live, since the start.
    package var skippedMessageCount: Int { rooms.skippedCount.load(ordering: .relaxed) }

    /// Delivers a room's message, unless the room exceeds its rate limit.
    ///
    /// The sender's other devices receive the message in any case.
    func deliverRoomMessage(_ message: Message, except origin: Origin?) {
        let id = message.conversation
        guard rooms.admit(message, now: clock()) else {
            return send(.message(message), to: otherSubscribers(of: id, of: message.sender, than: origin))
        }
        guard let audience = audience(of: id) else { return }
        let substitute =
            message.attributes.priority == .low
            ? HeadFrame(HeadAnnouncement(message).withoutMessage, of: id, in: self) : nil
        audience.deliver(frame(.message(message)), except: origin, orElse: substitute)
    }

    /// Returns whether a transient message is delivered.
    ///
    /// If the room exceeds its rate limit, only the sender's other devices receive the message.
    func shouldDeliver(_ message: TransientMessage, except origin: Origin?) -> Bool {
        let id = message.conversation
        guard id.kind.traits.streamsUnderLoadByPriority,
            !rooms.admit(id, message.attributes.priority, orElse: nil, now: clock())
        else { return true }
        send(.transient(message), to: otherSubscribers(of: id, of: message.sender, than: origin))
        return false
    }

    /// Returns whether a change is delivered; otherwise subscribers soon receive one new head for all skipped changes.
    func shouldDeliver(_ change: LogChange, in id: ConversationID, _ head: HeadAnnouncement) -> Bool {
        !id.kind.traits.streamsUnderLoadByPriority || rooms.admit(id, .normal, orElse: head, now: clock())
    }

    /// Returns a user's other connections that are subscribed to a room, without iterating over all subscribers.
    private func otherSubscribers(of id: ConversationID, of user: UserID, than origin: Origin?) -> [any Connection] {
        connections(of: user).filter { Origin($0) != origin && $0.isSubscribed(to: id) }
    }

    /// Sends rooms' heads to their subscribers if the newest messages were not delivered.
    func deliverPendingHeads() {
        for (id, head) in rooms.takePendingHeads() {
            audience(of: id)?.deliver(frame(head.event(id)), except: nil)
        }
    }
}

/// The frame that replaces a low-priority message for a slow connection: the room's head.
package final class HeadFrame: Sendable {
    package let conversation: ConversationID
    private let head: HeadAnnouncement
    private let hub: Hub

    init(_ head: HeadAnnouncement, of conversation: ConversationID, in hub: Hub) {
        self.head = head
        self.conversation = conversation
        self.hub = hub
    }

    package var encoded: [UInt8] { hub.frame(head.event(conversation)) }
}
