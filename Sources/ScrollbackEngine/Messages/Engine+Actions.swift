package import ScrollbackModel
package import ScrollbackWire

extension Engine {
    /// Returns the actions on a message, or on all messages the caller can see if `id` is `nil`, oldest first.
    ///
    /// - Parameters:
    ///   - after: The time above which to return actions.
    ///   - limit: The maximum number of actions.
    /// - Returns: The actions, and the value of `after` for the next page.
    package func actions(
        on id: MessageID?, in conversation: ConversationID, after: Timetoken?, limit: Int, by caller: Caller
    ) throws -> (actions: [MessageAction], next: Timetoken?) {
        try checkLimit(limit)
        try checkHistory(by: caller)
        let name = conversation.logID.absolute(for: caller.user)
        return try withAccess(to: name, for: caller) { access, store in
            let number = access.conversation.number
            var seq: Seq?
            if let id {
                guard let message = try store.message(id, in: number), access.visible.contains(message.seq) else {
                    throw ChatError(.unknownMessage, "Message \(id) does not exist, or you may not see it.")
                }
                seq = message.seq
            }
            let rows = try store.actions(at: seq, in: number, after: after, limit: limit)
            let shown = rows.filter { access.shows($0) }
            let actions = try shown.filter { access.visible.contains($0.seq) }.compactMap { row in
                try store.message(at: row.seq, in: number).map { row.action(on: $0.id) }
            }
            return (actions, shown.count == limit ? shown.last?.timetoken : nil)
        }
    }
}

extension Engine {
    /// Returns the pinned messages that the caller can see, newest first, about 512 KiB at most.
    ///
    /// - Parameters:
    ///   - seq: The sequence number below which to return messages; `nil` for all.
    ///   - limit: The maximum number of messages.
    package func pinnedMessages(
        of id: ConversationID, below seq: Seq?, limit: Int, by caller: Caller
    ) throws -> ListPins.Answer {
        try checkLimit(limit)
        try checkHistory(by: caller)
        let name = id.logID.absolute(for: caller.user)
        return try withAccess(to: name, for: caller) { access, store in
            let number = access.conversation.number
            // A page of a former member ends after the pins that they see. Its cursor must not reveal a later pin.
            let isFormer = access.end != nil
            let pins = try store.pins(in: number, below: seq, limit: isFormer ? Transaction.maximumPins : limit)
            var answer = ListPins.Answer(
                messages: [], rev: access.state.rev, next: !isFormer && pins.count == limit ? pins.last : nil)
            var bytes = 0
            for pin in pins {
                guard access.visible.contains(pin), let row = try store.message(at: pin, in: number) else {
                    continue
                }
                let message = try access.message(row, in: store)
                // A message can have been pinned after the membership of a former member ended.
                guard message.isPinned else { continue }
                if bytes >= ResponseBudget.answerBytes || answer.messages.count == limit {
                    answer.next = pin + 1
                    break
                }
                answer.messages.append(message)
                bytes += row.weight
            }
            return answer
        }
    }
}

extension ActionRow {
    func action(on message: MessageID) -> MessageAction {
        MessageAction(message: message, timetoken: timetoken, sender: sender, type: type, value: value)
    }
}
