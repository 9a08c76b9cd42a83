package import Foundation
package import ScrollbackModel

extension ResumeState {
    /// A conversation has something that only `sync` brings: an edit said so.
    package mutating func needsSync(_ position: LogPosition) -> [ResumeAction] {
        guard windows != .offline else { return [] }
        enqueue(position)
        return sendBatches()
    }

    /// An answer was applied.
    ///
    /// - Parameter behind: where the device stands now with those of the batch that still miss something. One that has not
    ///   moved since it was asked for waits before it asks again.
    package mutating func syncAnswered(
        _ batch: Int, behind: [LogPosition], now: Date, using generator: inout some RandomNumberGenerator
    ) -> [ResumeAction] {
        guard let asked = inFlight.removeValue(forKey: batch) else { return [] }
        var stuck: [LogPosition] = []
        for position in asked {
            let conversation = position.conversation
            let repeated = again.removeValue(forKey: conversation)
            pending.remove(conversation)
            synced.insert(conversation)
            if let next = behind.first(where: { $0.conversation == conversation }) ?? repeated {
                if next == position { stuck.append(next) } else { enqueue(next) }
            }
        }
        let waiting = pause(stuck, error: nil, now, &generator)
        if stuck.isEmpty { backoff.reset() }
        return releaseResumed() + sendBatches() + waiting
    }

    /// No answer came. What trying again can't mend is let go until the next connection.
    package mutating func syncFailed(
        _ batch: Int, _ error: ChatError, now: Date, using generator: inout some RandomNumberGenerator
    ) -> [ResumeAction] {
        guard let asked = inFlight.removeValue(forKey: batch) else { return [] }
        for position in asked { pending.remove(position.conversation) }
        var waiting: [ResumeAction] = []
        if error.isTemporary {
            let latest = asked.map { again.removeValue(forKey: $0.conversation) ?? $0 }
            waiting = pause(latest, error: error, now, &generator)
        } else {
            for position in asked {
                synced.insert(position.conversation)
                overflowed.remove(position.conversation)
                if let next = again.removeValue(forKey: position.conversation), next != position { enqueue(next) }
            }
        }
        return releaseResumed() + sendBatches() + waiting
    }

    /// Puts a conversation in line, or moves its place in the log up where it is in line already.
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
            again[conversation] = position
        } else {
            queue.append(position)
        }
    }

    /// Asks for whoever is first in line, as far as requests are free.
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
