package import Foundation
package import ScrollbackModel

extension Outbox {
    /// The server answered for a message, on this connection or an earlier one.
    ///
    /// A success is true whenever it comes. A refusal counts only while the message is in flight; a temporary one keeps
    /// the message at the head of its lane, so that nothing overtakes it. A request that got no answer is no refusal:
    /// ``disconnected()`` queues it again.
    package mutating func answered<Answer>(
        _ id: MessageID, _ result: Result<Answer, ChatError>, now: Date,
        using generator: inout some RandomNumberGenerator
    ) -> Effects {
        var steps = Steps()
        guard let item = self[id] else { return effects(of: steps) }
        switch result {
        case .success:
            remove(id, &steps)
        case .failure(let error):
            guard item.state == .sending else { return effects(of: steps) }
            let next: OutboxItem.State
            if error.isTemporary {
                next = .waiting(until: now + waiting(for: error, item, using: &generator))
            } else {
                next = .failed(error)
            }
            update(id, &steps) { $0.state = next }
        }
        pump(item.conversation, now, &steps)
        return effects(of: steps)
    }

    /// What became of a message's files: they are on the server, or can't be brought there.
    ///
    /// What ends after it was stopped changes nothing.
    package mutating func uploaded(
        _ id: MessageID, _ result: Result<Void, ChatError>, now: Date,
        using generator: inout some RandomNumberGenerator
    ) -> Effects {
        var steps = Steps()
        guard let item = self[id], item.state == .uploading else { return effects(of: steps) }
        switch result {
        case .success:
            unuploaded.remove(id)
            update(id, &steps) {
                $0.state = .queued
                $0.needsUpload = false
                $0.attempts = 0
            }
        case .failure(let error):
            let next: OutboxItem.State =
                error.isTemporary
                ? .waiting(until: now + waiting(for: error, item, using: &generator)) : .failed(error)
            update(id, &steps) { $0.state = next }
        }
        pump(item.conversation, now, &steps)
        return effects(of: steps)
    }

    /// The files of a message that is in flight go once more, under their ids: the server does not know them any more.
    ///
    /// It keeps what no message names for a day, and this device may have been away for longer.
    ///
    /// - Returns: nothing where that was done within ``uploadsAgainAfter``: it does not help.
    package mutating func uploadAgain(_ id: MessageID, now: Date) -> Effects? {
        guard let item = self[id], item.state == .sending,
            uploadedAgain[id].map({ now.timeIntervalSince($0) >= Self.uploadsAgainAfter }) ?? true
        else { return nil }
        var steps = Steps()
        uploadedAgain[id] = now
        unuploaded.insert(id)
        update(id, &steps) {
            $0.state = .queued
            $0.needsUpload = true
            $0.attempts = 0
        }
        pump(item.conversation, now, &steps)
        return effects(of: steps)
    }

    /// As long as the backoff says, and no shorter than the server says: up to half of that longer, so that all it refused at
    /// once do not come back at once.
    private func waiting(
        for error: ChatError, _ item: OutboxItem, using generator: inout some RandomNumberGenerator
    ) -> TimeInterval {
        let wait = backoff.wait(afterFailures: item.attempts, using: &generator)
        guard let least = error.retryAfter else { return wait }
        return max(wait, least * .random(in: 1...1.5, using: &generator))
    }

    /// Somebody asks to try again now: under the same id, at its old place.
    package mutating func retry(_ id: MessageID, now: Date) -> Effects {
        var steps = Steps()
        guard let item = self[id] else { return effects(of: steps) }
        switch item.state {
        case .sending, .uploading, .queued: break
        case .waiting, .failed: update(id, &steps) { $0.state = .queued }
        }
        pump(item.conversation, now, &steps)
        return effects(of: steps)
    }

    /// What became of a wish to cancel.
    package enum Cancellation: Hashable, Sendable {
        /// It never left this device and never will.
        case cancelled
        /// It will not be sent again, but an earlier attempt may have been stored: a recall makes sure.
        case mayHaveBeenStored
        /// It is in flight; its answer decides.
        case inFlight
        /// There is no such message in the outbox.
        case unknown
    }

    /// Takes a message out, unless it is in flight.
    package mutating func cancel(_ id: MessageID, now: Date) -> (Cancellation, Effects) {
        var steps = Steps()
        guard let item = self[id] else { return (.unknown, effects(of: steps)) }
        guard item.state != .sending else { return (.inFlight, effects(of: steps)) }
        if item.state == .uploading { steps.stopUpload.append(id) }
        remove(id, &steps)
        pump(item.conversation, now, &steps)
        return (item.isFrozen ? .mayHaveBeenStored : .cancelled, effects(of: steps))
    }
}
