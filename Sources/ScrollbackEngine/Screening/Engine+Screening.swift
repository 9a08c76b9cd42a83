import ScrollbackModel
import Synchronization

extension Engine {
    /// How much is looked at on the thread that takes the request: above it others would wait.
    private static let quickBytes = 4096

    /// Has what somebody wants to say looked at, by the filter and by the operator's own program, and goes on with what came
    /// of it: at once where it is short and nobody but the filter is asked, else later, in the order in which one connection
    /// asked.
    ///
    /// The program is asked about nothing that its sender may not say. A refusal is handed on and not answered here: what was
    /// stored before under the same id is answered first.
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
            return refuse(ChatError(.overloaded, "too many messages wait for their check", retryAfter: 1))
        }
        if let early, !isAsked(after: early) { return letThrough { proceed(early) } }
        Task { [self] in
            let judgement = early ?? filter.judge(proposal)
            let answer = await ask(about: proposal, after: judgement, by: caller)
            letThrough { proceed(answer) }
        }
    }

    /// Whether the operator's program is asked about what the filter judged so.
    private func isAsked(after judgement: Judgement) -> Bool {
        if case .refused = judgement { return false }
        return webhooks != nil && settings.manners.webhooks.before != nil
    }

    /// Asks the operator's program, where it is to be asked.
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

    /// - Throws: what saying it would be refused with, as far as one look at the store tells.
    private func check(_ proposal: Proposal, by caller: Caller) throws {
        try store.read { store in
            guard proposal.kind == .edit else {
                _ = try checkMaySend(in: proposal.conversation, by: caller, store)
                return
            }
            let access = try access(to: proposal.conversation, for: caller, in: store)
            guard let message = try store.message(proposal.id, in: access.conversation.number),
                access.visible.contains(message.seq)
            else { throw ChatError(.unknownMessage, "there is no message \(proposal.id) here that you may see") }
            let action: Action = message.sender == caller.user ? .editOwn : .editOthers
            guard permissions[action, proposal.conversation.kind].isMet(by: access.role, isAdmin: caller.isAdmin) else {
                throw ChatError(.forbidden, "editing this message takes more than you are there")
            }
            try store.checkMayWrite(caller, access, now: clock())
        }
    }

    /// Completes once everything that was said up to now is in the log, or was refused.
    package func settle(completion: @escaping Completion<Void>) {
        turnstile.whenEmpty { [log] in log.submit({ _ in }, completion: completion) }
    }
}
