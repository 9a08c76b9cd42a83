import ScrollbackModel
import ScrollbackWire

/// Delivers read state and receipts.
extension Hub {
    /// Delivers changes of one user's own state in several conversations.
    func deliverOwnStates(_ changes: [OwnStateChange]) {
        guard let user = changes.first?.user else { return }
        let reads = changes.map { (conversation: $0.conversation.relative(to: user), summary: $0.summary) }
        send(.reads(reads), to: connections(of: user))
        for change in changes { sendReadReceipt(of: change) }
    }

    func sendReadReceipt(of event: OwnStateChange) {
        let id = event.conversation
        guard id.kind == .direct, let receipt = event.receipt else { return }
        for peer in id.namedUsers where peer != event.user {
            send(.peerRead(id.relative(to: peer), event.user, receipt), to: connections(of: peer))
        }
    }

    func sendDelivered(_ id: ConversationID, _ user: UserID, _ seq: Seq) {
        guard id.kind == .direct else {
            audience(of: id)?.deliver(frame(.delivered(id, user, seq)), excluding: [user])
            return
        }
        for peer in id.namedUsers where peer != user {
            send(.delivered(id.relative(to: peer), user, seq), to: connections(of: peer))
        }
    }
}
