import ScrollbackModel
import Synchronization

extension Engine {
    /// The maximum size that is examined on the request's thread, in bytes; larger messages would delay others.
    private static let synchronousBytes = 4096

    /// Passes a message or edit through the filter and the moderation webhook, and continues with the result.
    ///
    /// This completes immediately if the message is short and no webhook is called. Otherwise it completes later, in
    /// the order of requests per connection and conversation.
    ///
    /// The webhook is called only for messages that the sender may send. `proceed` also receives refusals, because a
    /// retry of a stored message must get its original answer. `refuse` is called only if too many messages wait.
    func moderate(
        _ filterRequest: FilterRequest, by caller: Caller, origin: Origin?,
        refuse: @escaping @Sendable (ChatError) -> Void,
        _ proceed: @escaping @Sendable (FilterResult) -> Void
    ) {
        let filter = filter.withLock { $0 }
        let isSynchronous = filter.acceptsEverything || filterRequest.bytes <= Self.synchronousBytes
        let immediateResult = isSynchronous ? filter.evaluate(filterRequest) : nil
        if let immediateResult, !callsWebhook(after: immediateResult), orderedGate.isEmpty {
            return proceed(immediateResult)
        }
        let queue = origin.map { OrderedGate.QueueID(session: $0, conversation: filterRequest.conversation) }
        guard let proceedInOrder = orderedGate.enter(queue) else {
            return refuse(ChatError(.overloaded, "Too many messages wait for their check.", retryAfter: 1))
        }
        if let immediateResult, !callsWebhook(after: immediateResult) {
            return proceedInOrder { proceed(immediateResult) }
        }
        Task { [self] in
            let filterResult = immediateResult ?? filter.evaluate(filterRequest)
            let answer = await review(filterRequest, after: filterResult, by: caller)
            proceedInOrder { proceed(answer) }
        }
    }

    /// Returns whether the moderation webhook must be called after the filter's result.
    private func callsWebhook(after filterResult: FilterResult) -> Bool {
        if case .refused = filterResult { return false }
        return webhooks != nil && settings.moderation.webhooks.before != nil
    }

    /// Calls the moderation webhook if necessary.
    private func review(_ filterRequest: FilterRequest, after filterResult: FilterResult, by caller: Caller) async
        -> FilterResult
    {
        guard callsWebhook(after: filterResult), let webhooks, let hook = settings.moderation.webhooks.before else {
            return filterResult
        }
        do {
            try check(filterRequest, by: caller)
        } catch {
            return .refused(ChatError(wrapping: error))
        }
        let answer = await hook.review(
            filterRequest.applying(filterResult), over: webhooks, limits: limits, clock: clock,
            noteFailure: { self.failedReviews.wrappingAdd(1, ordering: .relaxed) })
        switch answer {
        case .allowed: return filterResult
        case .replaced(let content, _): return .replaced(content, attributes: filterResult.attributes)
        case .refused(let error): return .refused(error)
        }
    }

    /// Checks that the sender may send the message or edit; a later change can still cause a refusal.
    ///
    /// - Throws: The error that sending or editing would throw.
    private func check(_ filterRequest: FilterRequest, by caller: Caller) throws {
        let now = clock()
        try store.read { store in
            guard filterRequest.kind == .edit else {
                _ = try store.checkMaySend(
                    to: filterRequest.conversation, by: caller, permissions: permissions, now: now)
                return
            }
            let access = try access(to: filterRequest.conversation, for: caller, in: store)
            guard let message = try store.message(filterRequest.id, in: access.conversation.number),
                access.visible.contains(message.seq)
            else {
                throw ChatError(.unknownMessage, "Message \(filterRequest.id) does not exist, or you may not see it.")
            }
            try access.checkMayEdit(message, by: caller, permissions: permissions)
            try store.checkMayWrite(caller, in: access.conversation, role: access.role, now: now)
        }
    }

    /// Completes after all messages sent so far are stored or refused.
    package func waitForPendingMessages(completion: @escaping Completion<Void>) {
        orderedGate.whenEmpty { [commits] in commits.waitForSubmitted(completion: completion) }
    }
}
