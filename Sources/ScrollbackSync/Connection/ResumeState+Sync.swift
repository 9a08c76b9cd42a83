package import Foundation
package import ScrollbackModel

extension ResumeState {
    /// Queues a conversation for `sync`, for example after an edit showed that something is missing.
    package mutating func needsSync(_ position: LogPosition) -> [ResumeAction] {
        guard windows != .offline else { return [] }
        enqueue(position)
        return sendBatches()
    }

    /// Handles an applied answer to `sync`.
    ///
    /// If an answer had no room for a conversation, the conversation is requested again immediately. After an answer
    /// without any progress, the next request waits.
    ///
    /// - Parameter behind: The current positions of conversations in the batch that still miss something.
    package mutating func syncAnswered(
        _ batch: Int, behind: [LogPosition], now: Date, using generator: inout some RandomNumberGenerator
    ) -> [ResumeAction] {
        guard let asked = inFlight.removeValue(forKey: batch) else { return [] }
        var next: [LogPosition] = []
        for position in asked {
            let conversation = position.conversation
            let repeated = repeatPositions.removeValue(forKey: conversation)
            pending.remove(conversation)
            synced.insert(conversation)
            if let position = behind.first(where: { $0.conversation == conversation }) ?? repeated {
                next.append(position)
            }
        }
        var waiting: [ResumeAction] = []
        if next == asked {
            waiting = pause(next, error: nil, now, &generator)
        } else {
            backoff.reset()
            for position in next { enqueue(position) }
        }
        return releaseResumed() + sendBatches() + waiting
    }

    /// Handles a failed `sync` request.
    ///
    /// After a permanent error, the conversations are not requested again on this connection.
    package mutating func syncFailed(
        _ batch: Int, _ error: ChatError, now: Date, using generator: inout some RandomNumberGenerator
    ) -> [ResumeAction] {
        guard let asked = inFlight.removeValue(forKey: batch) else { return [] }
        for position in asked { pending.remove(position.conversation) }
        var waiting: [ResumeAction] = []
        if error.isTemporary {
            let latest = asked.map { repeatPositions.removeValue(forKey: $0.conversation) ?? $0 }
            waiting = pause(latest, error: error, now, &generator)
        } else {
            for position in asked {
                synced.insert(position.conversation)
                overflowed.remove(position.conversation)
                if let next = repeatPositions.removeValue(forKey: position.conversation), next != position {
                    enqueue(next)
                }
            }
        }
        return releaseResumed() + sendBatches() + waiting
    }

    /// Queues a conversation, or updates its position if it is already queued.
    mutating func enqueue(_ position: LogPosition) {
        let conversation = position.conversation
        func isSame(_ other: LogPosition) -> Bool { other.conversation == conversation }
        if pending.insert(conversation).inserted {
            queue.append(position)
        } else if let index = queue.firstIndex(where: isSame) {
            queue[index] = position
        } else if let index = paused.firstIndex(where: isSame) {
            paused[index] = position
        } else if inFlight.values.contains(where: { $0.contains(where: isSame) }) {
            repeatPositions[conversation] = position
        } else {
            queue.append(position)
        }
    }

    /// Sends requests for the first conversations in the queue, within the limit of concurrent requests.
    mutating func sendBatches() -> [ResumeAction] {
        var actions: [ResumeAction] = []
        while !queue.isEmpty, inFlight.count < Self.batchesInFlight {
            let positions = Array(queue.prefix(Self.batchSize))
            queue.removeFirst(positions.count)
            let batch = nextNumber()
            inFlight[batch] = positions
            actions.append(.sync(batch: batch, positions))
        }
        return actions
    }

    private mutating func pause(
        _ positions: [LogPosition], error: ChatError?, _ now: Date, _ generator: inout some RandomNumberGenerator
    ) -> [ResumeAction] {
        guard !positions.isEmpty else { return [] }
        paused += positions
        pending.formUnion(positions.map(\.conversation))
        let until = now + (error?.retryAfter ?? backoff.next(using: &generator))
        pausedUntil = max(until, pausedUntil ?? until)
        return [.wake(at: pausedUntil ?? until)]
    }
}
