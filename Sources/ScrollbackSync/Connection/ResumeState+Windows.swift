package import Foundation
package import ScrollbackModel

extension ResumeState {
    /// A window came.
    package mutating func windowAnswered(
        _ request: Int, heads: [ConversationHead], cursor: String, isDone: Bool
    ) -> [ResumeAction] {
        guard case .pulling(request, _) = windows else { return [] }
        windows = .storing(cursor: cursor, isDone: isDone)
        storing = heads
        return [.storeHeads(heads, cursor: cursor)]
    }

    /// A window was stored.
    ///
    /// - Parameter isBehind: where the device stands with a conversation it has missed something of, else `nil`.
    package mutating func windowStored(isBehind: (ConversationHead) -> LogPosition?) -> [ResumeAction] {
        guard case .storing(let cursor, let isDone) = windows else { return [] }
        for head in storing where head.conversation.kind.traits.replaysMissed {
            if let position = isBehind(head) { enqueue(position) }
        }
        storing = []
        backoff.reset()
        guard isDone else {
            let actions = [pull(cursor)] + sendBatches()
            guard isNew, !hasTop else { return actions }
            hasTop = true
            return actions + releaseResumed()
        }
        windows = .done
        return sendBatches() + releaseResumed()
    }

    /// No window came.
    ///
    /// One that can't be had from this cursor is asked for from the beginning.
    package mutating func windowFailed(
        _ request: Int, _ error: ChatError, now: Date, using generator: inout some RandomNumberGenerator
    ) -> [ResumeAction] {
        guard case .pulling(request, let cursor) = windows else { return [] }
        let until = now + (error.retryAfter ?? backoff.next(using: &generator))
        windows = .pausing(until: until, cursor: error.isTemporary ? cursor : nil)
        return [.wake(at: until)]
    }
}
