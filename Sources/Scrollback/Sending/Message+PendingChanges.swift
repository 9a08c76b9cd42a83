import ScrollbackModel
import ScrollbackWire

extension Message {
    /// Returns the message with the queued changes applied.
    func applying(_ changes: [OutboxRequest], by user: UserID) -> Message {
        changes.reduce(self) { $0.applying($1, by: user) }
    }

    private func applying(_ change: OutboxRequest, by user: UserID) -> Message {
        var message = self
        switch change {
        case .edit(let request) where request.id == id && !isDeleted:
            message.content = request.edit.content
            message.attributes = request.edit.applied(to: attributes)
        case .delete(let request) where request.audience == .everyone && request.ids.contains(id):
            message.content = nil
            message.actions = []
            message.attributes = MessageAttributes(traits: attributes.traits)
        case .addAction(let request) where request.id == id && !isDeleted:
            if request.action.type == MessageAction.vote, content?.poll?.allowsSeveralVotes == false {
                for vote in actions where vote.type == MessageAction.vote && vote.senders.contains(user) {
                    message.actions.remove(vote.type, vote.value, user)
                }
            }
            message.actions.add(request.action.type, request.action.value, user)
        case .removeAction(let request) where request.id == id:
            guard case .own(let type, let value) = request.action else { break }
            // Everyone who may pin can remove the pin of another user.
            message.actions.remove(type, value, type == MessageAction.pin ? pinnedBy ?? user : user)
        default: break
        }
        return message
    }
}

extension [ActionSummary] {
    fileprivate mutating func add(_ type: String, _ value: String, _ user: UserID) {
        if let index = firstIndex(where: { $0.type == type && $0.value == value }) {
            guard !self[index].senders.contains(user) else { return }
            self[index].count += 1
            self[index].senders.append(user)
        } else {
            append(ActionSummary(type: type, value: value, count: 1, senders: [user]))
        }
    }

    fileprivate mutating func remove(_ type: String, _ value: String, _ user: UserID) {
        guard let index = firstIndex(where: { $0.type == type && $0.value == value }) else { return }
        self[index].count -= 1
        self[index].senders.removeAll { $0 == user }
        if self[index].count <= 0 { remove(at: index) }
    }
}
