import ScrollbackModel
import Synchronization

extension Engine {
    /// Has what somebody wants to say looked at, by the filter and by the operator's own program, and goes on with what came
    /// of it: at once where nobody but the filter is asked, else later, in the order in which one connection asked.
    ///
    /// A refusal is handed on and not answered here: what was stored before under the same id is answered first.
    func screen(
        _ proposal: Proposal, origin: Origin?, refuse: @escaping @Sendable (ChatError) -> Void,
        _ proceed: @escaping @Sendable (Judgement) -> Void
    ) {
        let judgement = filter.withLock { $0 }.judge(proposal)
        let question = question(about: proposal, after: judgement)
        if question == nil, turnstile.isEmpty { return proceed(judgement) }
        let lane = origin.map { Turnstile.Lane(session: $0, conversation: proposal.conversation) }
        guard let letThrough = turnstile.enter(lane) else {
            return refuse(ChatError(.overloaded, "too many messages wait for the operator's check", retryAfter: 1))
        }
        guard let question else { return letThrough { proceed(judgement) } }
        Task {
            let answer = await question()
            letThrough { proceed(answer) }
        }
    }

    /// What the operator's program is asked, where it is to be.
    private func question(
        about proposal: Proposal, after judgement: Judgement
    ) -> (@Sendable () async -> Judgement)? {
        guard let webhooks, let hook = settings.manners.webhooks.before else { return nil }
        var proposal = proposal
        switch judgement {
        case .refused: return nil
        case .allowed: break
        case .replaced(let content): proposal.content = MessageContent(known: proposal.content.type, json: content)
        }
        return { [proposal, limits, clock] in
            let answer = await hook.ask(about: proposal, over: webhooks, limits: limits, clock: clock)
            if case .allowed = answer { return judgement }
            return answer
        }
    }

    /// Completes once everything that was said up to now is in the log, or was refused.
    package func settle(completion: @escaping Completion<Void>) {
        turnstile.whenEmpty { [log] in log.submit({ _ in }, completion: completion) }
    }
}
