package import ScrollbackModel
package import ScrollbackWire
import Synchronization

// Changes of messages after they were sent. Requests complete in the order of the calls, after the change is durable or
// was refused.

extension Engine {
    private func request(_ id: ConversationID, _ caller: Caller, _ operation: MessageID?) -> ChangeRequest {
        ChangeRequest(conversation: id.logID.absolute(for: caller.user), caller: caller, operation: operation)
    }

    private func answer(_ message: MessageRow, _ request: ChangeRequest, _ row: ConversationRow?) -> Message {
        message.message(
            in: request.conversation.relative(to: request.caller.user),
            epoch: row?.epoch(in: store.generation) ?? Epoch(rawValue: 0))
    }

    /// Replaces the content of a message.
    ///
    /// - Parameter operation: An idempotency ID. A request with the same ID gets the first answer and changes nothing.
    package func edit(
        _ id: MessageID, in conversation: ConversationID, _ edit: MessageEdit, operation: MessageID? = nil,
        by caller: Caller, origin: Origin? = nil, completion: @escaping Completion<Message>
    ) {
        let request = request(conversation, caller, operation)
        let filterRequest = FilterRequest(
            .edit, in: request.conversation, by: caller.user, id: id, content: edit.content,
            attributes: edit.applied(to: .init()))
        moderate(filterRequest, by: caller, origin: origin, refuse: { completion(.failure($0)) }) {
            [self] filterResult in
            commits.submit(
                for: WorkOwner(caller), about: request.footprints([id]),
                { [self] in
                    let message = try $0.edit(
                        id, edit, request, permissions: permissions, filterResult: filterResult,
                        mentionLimiter: mentionLimiter)
                    return answer(message, request, try $0.conversation(request.conversation))
                }, completion: completion)
        }
    }

    /// Deletes one message for everyone; deleting one's own message recalls it.
    ///
    /// Completes with the message's tombstone.
    package func delete(
        _ id: MessageID, in conversation: ConversationID, by caller: Caller, completion: @escaping Completion<Message>
    ) {
        let request = request(conversation, caller, nil)
        commits.submit(
            for: WorkOwner(caller), about: request.footprints([id]),
            { [self] in
                guard
                    let message = try $0.delete(
                        [id], request, permissions: permissions, lowersUnread: settings.recallLowersUnread
                    ).last
                else { throw ChatError(.unknownMessage, "Message \(id) does not exist, or you may not see it.") }
                return answer(message, request, try $0.conversation(request.conversation))
            }, completion: completion)
    }

    /// Deletes messages for everyone; unknown messages are skipped.
    ///
    /// Completes with how many messages this call deleted.
    package func delete(
        _ ids: [MessageID], in conversation: ConversationID, by caller: Caller, completion: @escaping Completion<Int>
    ) {
        if let refusal = Self.check(ids) { return completion(.failure(refusal)) }
        let request = request(conversation, caller, nil)
        commits.submit(
            for: WorkOwner(caller), about: request.footprints(),
            { [self] in
                try $0.delete(
                    ids, request, permissions: permissions, lowersUnread: settings.recallLowersUnread
                ).deleted
            }, completion: completion)
    }

    /// The maximum number of messages in one request to delete or hide messages.
    package static let maximumDeleted = 100

    private static func check(_ ids: [MessageID]) -> ChatError? {
        guard (1...maximumDeleted).contains(ids.count) else {
            return .invalidParameter("ids", "must be 1...\(maximumDeleted) message IDs", limit: maximumDeleted)
        }
        return nil
    }

    /// Deletes messages for the caller only; unknown messages are skipped.
    ///
    /// Completes with how many messages this call hid.
    package func hide(
        _ ids: [MessageID], in conversation: ConversationID, by caller: Caller, completion: @escaping Completion<Int>
    ) {
        if let refusal = Self.check(ids) { return completion(.failure(refusal)) }
        let request = request(conversation, caller, nil)
        commits.submit(
            for: WorkOwner(caller), about: request.footprints(),
            { [permissions] in try $0.hide(ids, request, permissions: permissions) },
            completion: completion)
    }

    /// Deletes a range of messages for everyone.
    ///
    /// Completes with how many messages were deleted.
    package func delete(
        _ range: DeleteRange, of conversation: ConversationID, operation: MessageID? = nil, by caller: Caller,
        completion: @escaping Completion<Int64>
    ) {
        guard settings.allowsHistoryDelete else {
            return completion(
                .failure(ChatError(.forbidden, "Deleting history is turned off (setting allowsHistoryDelete).")))
        }
        let request = request(conversation, caller, operation)
        commits.submit(
            for: WorkOwner(caller),
            { [permissions] in try $0.delete(range, request, permissions: permissions) },
            completion: { [self] result in
                if case .success = result { _ = unswept.withLock { $0.insert(request.conversation) } }
                completion(result)
            })
    }

    /// Clears the history up to a sequence number for the caller only.
    package func clear(
        _ conversation: ConversationID, through seq: Seq, epoch: Epoch, by caller: Caller,
        completion: @escaping Completion<ReadSummary>
    ) {
        let request = request(conversation, caller, nil)
        commits.submit(
            for: WorkOwner(caller),
            { [permissions] in try $0.clear(through: seq, epoch, request, permissions: permissions) },
            completion: completion)
    }

    // MARK: Actions

    /// Attaches an action to a message.
    ///
    /// - Parameter erasureCount: As for ``send(_:to:by:origin:since:completion:)``.
    package func addAction(
        to id: MessageID, in conversation: ConversationID, type: String, value: String, operation: MessageID? = nil,
        by caller: Caller, since erasureCount: Int? = nil, completion: @escaping Completion<MessageAction>
    ) {
        let request = request(conversation, caller, operation)
        let erasureCount = erasureCount ?? self.erasureCount
        do {
            try checkTexts([("type", type), ("value", value)])
        } catch {
            return completion(.failure(error))
        }
        commits.submit(
            for: WorkOwner(caller), about: request.footprints([id], actionType: type),
            { [permissions, erasing] in
                try erasing.check(caller.user, since: erasureCount)
                return try $0.addAction(to: id, type: type, value: value, request, permissions: permissions)
            }, completion: completion)
    }

    /// Removes an action from a message.
    package func removeAction(
        from id: MessageID, _ reference: ActionReference, in conversation: ConversationID, operation: MessageID? = nil,
        by caller: Caller, completion: @escaping Completion<Void>
    ) {
        let request = request(conversation, caller, operation)
        var type: String?
        if case .own(let own, _) = reference { type = own }
        commits.submit(
            for: WorkOwner(caller), about: request.footprints([id], actionType: type),
            { [permissions] in try $0.removeAction(from: id, reference, request, permissions: permissions) },
            completion: completion)
    }

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
