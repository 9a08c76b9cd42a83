import ScrollbackModel
import ScrollbackWire

extension Message {
    /// The message as it will be once what is queued on this device has been done.
    func applying(_ changes: [ClientRequest], by user: UserID) -> Message {
        changes.reduce(self) { $0.applying($1, by: user) }
    }

    private func applying(_ change: ClientRequest, by user: UserID) -> Message {
        var message = self
        switch change {
        case .edit(_, id, let edit, _) where !isDeleted:
            message.content = edit.content
            message.attributes = edit.applied(to: attributes)
        case .delete(_, let ids, forMe: false) where ids.contains(id):
            message.content = nil
            message.actions = []
            message.attributes = MessageAttributes(traits: attributes.traits)
        case .addAction(_, id, let type, let value, _) where !isDeleted:
            message.actions.add(type, value, user)
        case .removeAction(_, id, .own(let type, let value), _):
            message.actions.remove(type, value, user)
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
