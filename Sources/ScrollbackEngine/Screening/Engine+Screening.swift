import ScrollbackModel
import Synchronization

extension Engine {
    /// The maximum size that is examined on the request's thread, in bytes; larger messages would delay others.
    private static let quickBytes = 4096

    /// Passes a message or edit through the filter and the moderation webhook, and continues with the result.
    ///
    /// This completes immediately if the message is short and no webhook is called. Otherwise it completes later, in
    /// the order of requests per connection and conversation.
    ///
    /// The webhook is called only for messages that the sender may send. `proceed` also receives refusals, because a
    /// retry of a stored message must get its original answer. `refuse` is called only if too many messages wait.
    func screen(
        _ proposal: Proposal, by caller: Caller, origin: Origin?, refuse: @escaping @Sendable (ChatError) -> Void,
        _ proceed: @escaping @Sendable (Judgement) -> Void
    ) {
        let filter = filter.withLock { $0 }
        let isQuick = filter.isIdle || proposal.bytes <= Self.quickBytes
        let early = isQuick ? filter.judge(proposal) : nil
        if let early, !isAsked(after: early), turnstile.isEmpty { return proceed(early) }
        let lane = origin.map { Turnstile.Lane(session: $0, conversation: proposal.conversation) }
        guard let letThrough = turnstile.enter(lane) else {
            return refuse(ChatError(.overloaded, "Too many messages wait for their check.", retryAfter: 1))
        }
        if let early, !isAsked(after: early) { return letThrough { proceed(early) } }
        Task { [self] in
            let judgement = early ?? filter.judge(proposal)
            let answer = await ask(about: proposal, after: judgement, by: caller)
            letThrough { proceed(answer) }
        }
    }

    /// Returns whether the moderation webhook must be called after the filter's result.
    private func isAsked(after judgement: Judgement) -> Bool {
        if case .refused = judgement { return false }
        return webhooks != nil && settings.manners.webhooks.before != nil
    }

    /// Calls the moderation webhook if necessary.
    private func ask(about proposal: Proposal, after judgement: Judgement, by caller: Caller) async -> Judgement {
        guard isAsked(after: judgement), let webhooks, let hook = settings.manners.webhooks.before else {
            return judgement
        }
        do {
            try check(proposal, by: caller)
        } catch {
            return .refused(ChatError(wrapping: error))
        }
        switch await hook.ask(about: proposal.judged(judgement), over: webhooks, limits: limits, clock: clock) {
        case .allowed: return judgement
        case .replaced(let content, _): return .replaced(content, attributes: judgement.attributes)
        case .refused(let error): return .refused(error)
        }
    }

    /// Checks that the sender may send the message or edit; a later change can still cause a refusal.
    ///
    /// - Throws: The error that sending or editing would throw.
    private func check(_ proposal: Proposal, by caller: Caller) throws {
        try store.read { store in
            guard proposal.kind == .edit else {
                _ = try checkMaySend(in: proposal.conversation, by: caller, store)
                return
            }
            let access = try access(to: proposal.conversation, for: caller, in: store)
            guard let message = try store.message(proposal.id, in: access.conversation.number),
                access.visible.contains(message.seq)
            else { throw ChatError(.unknownMessage, "Message \(proposal.id) does not exist, or you may not see it.") }
            let action: Permission = message.sender == caller.user ? .editOwn : .editOthers
            guard permissions[action, proposal.conversation.kind].isMet(by: access.role, isAdmin: caller.isAdmin) else {
                throw ChatError(.forbidden, "You need permission to edit this message in \(proposal.conversation).")
            }
            try store.checkMayWrite(caller, access, now: clock())
        }
    }

    /// Completes after all messages sent so far are stored or refused.
    package func settle(completion: @escaping Completion<Void>) {
        turnstile.whenEmpty { [log] in log.submit({ _ in }, completion: completion) }
    }
}
