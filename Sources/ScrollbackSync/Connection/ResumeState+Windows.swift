package import Foundation
package import ScrollbackModel

extension ResumeState {
    /// Handles a window of conversations.
    package mutating func windowAnswered(
        _ request: Int, heads: [ConversationHead], cursor: String, isDone: Bool
    ) -> [ResumeAction] {
        guard case .pulling(request, _) = windows else { return [] }
        windows = .storing(cursor: cursor, isDone: isDone)
        storing = heads
        return [.storeHeads(heads, cursor: cursor)]
    }

    /// Handles a stored window.
    ///
    /// - Parameter isBehind: Returns the local position in a conversation that misses something, or `nil`.
    package mutating func windowStored(isBehind: (ConversationHead) -> LogPosition?) -> [ResumeAction] {
        guard case .storing(let cursor, let isDone) = windows else { return [] }
        for head in storing where head.conversation.kind.traits.replaysMissed {
            if let position = isBehind(head) { enqueue(position) }
        }
        storing = []
        backoff.reset()
        guard isDone else {
            let actions = [pull(cursor)] + sendBatches()
            guard isNew, !hasFirstWindow else { return actions }
            hasFirstWindow = true
            return actions + releaseResumed()
        }
        windows = .done
        return sendBatches() + releaseResumed()
    }

    /// Handles a failed request for a window.
    ///
    /// After a permanent error, the next request starts from the beginning instead of this cursor.
    package mutating func windowFailed(
        _ request: Int, _ error: ChatError, now: Date, using generator: inout some RandomNumberGenerator
    ) -> [ResumeAction] {
        guard case .pulling(request, let cursor) = windows else { return [] }
        let until = now + (error.retryAfter ?? backoff.next(using: &generator))
        windows = .pausing(until: until, cursor: error.isTemporary ? cursor : nil)
        return [.wake(at: until)]
    }
}
