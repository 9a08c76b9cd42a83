package import Foundation
package import ScrollbackModel

extension Outbox {
    /// Handles the server's answer for an item, from this connection or an earlier one.
    ///
    /// A success is always accepted. An error counts only while the item is in flight. After a temporary error, the
    /// item stays at the head of its queue, so that no other item overtakes it. A request without an answer is not an
    /// error: ``disconnected()`` queues the item again.
    package mutating func answered<Answer>(
        _ id: MessageID, _ result: Result<Answer, ChatError>, now: Date,
        using generator: inout some RandomNumberGenerator
    ) -> Effects {
        var steps = Steps()
        guard let item = self[id] else { return effects(of: steps) }
        switch result {
        case .success:
            remove(id, &steps)
            if !item.isMessage {
                let uploading = queues[item.conversation, default: []].filter { $0.state == .uploading }
                uploadsBeforeChange.formUnion(uploading.map(\.id))
            }
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

    /// Handles the end of an item's upload.
    ///
    /// The result of a stopped upload is ignored. An upload that the server refused because it did not know the
    /// conversation is repeated if the server has accepted a change of the conversation since the upload began.
    package mutating func uploaded(
        _ id: MessageID, _ result: Result<Void, ChatError>, now: Date,
        using generator: inout some RandomNumberGenerator
    ) -> Effects {
        var steps = Steps()
        guard let item = self[id], item.state == .uploading else { return effects(of: steps) }
        switch result {
        case .success:
            awaitingUpload.remove(id)
            update(id, &steps) {
                $0.state = .queued
                $0.needsUpload = false
                $0.attempts = 0
            }
        case .failure(let error):
            let isOutdated = error.code == .unknownConversation && uploadsBeforeChange.contains(id)
            let next: OutboxItem.State =
                error.isTemporary || isOutdated
                ? .waiting(until: now + waiting(for: error, item, using: &generator)) : .failed(error)
            update(id, &steps) { $0.state = next }
        }
        pump(item.conversation, now, &steps)
        return effects(of: steps)
    }

    /// Uploads the files of an item in flight again with the same IDs, because the server no longer has them.
    ///
    /// The server deletes files without a message after a day, and the device may have been offline for longer.
    ///
    /// - Returns: `nil` if the files were already uploaded again within ``minimumReuploadInterval``, since another
    ///   upload does not help.
    package mutating func reupload(_ id: MessageID, now: Date) -> Effects? {
        guard let item = self[id], item.state == .sending,
            reuploadedAt[id].map({ now.timeIntervalSince($0) >= Self.minimumReuploadInterval }) ?? true
        else { return nil }
        var steps = Steps()
        reuploadedAt[id] = now
        awaitingUpload.insert(id)
        update(id, &steps) {
            $0.state = .queued
            $0.needsUpload = true
            $0.attempts = 0
        }
        pump(item.conversation, now, &steps)
        return effects(of: steps)
    }

    /// Returns the delay after an error.
    ///
    /// It is the backoff, but at least the server's `retryAfter` plus up to half of it. The jitter spreads the retries
    /// of many clients.
    private func waiting(
        for error: ChatError, _ item: OutboxItem, using generator: inout some RandomNumberGenerator
    ) -> TimeInterval {
        let wait = backoff.wait(afterFailures: item.attempts, using: &generator)
        guard let least = error.retryAfter else { return wait }
        return max(wait, least * .random(in: 1...1.5, using: &generator))
    }

    /// Retries an item immediately, with the same ID and in the same order.
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

    /// The result of cancelling an item.
    package enum Cancellation: Hashable, Sendable {
        /// The item was never transmitted and never will be.
        case cancelled
        /// The item will not be sent again, but an earlier attempt may have stored the message: a recall is required.
        case mayHaveBeenStored
        /// The item is in flight, and its answer decides.
        case inFlight
        /// The outbox has no such item.
        case unknown
    }

    /// Removes an item unless it is in flight.
    package mutating func cancel(_ id: MessageID, now: Date) -> (Cancellation, Effects) {
        var steps = Steps()
        guard let item = self[id] else { return (.unknown, effects(of: steps)) }
        guard item.state != .sending else { return (.inFlight, effects(of: steps)) }
        if item.state == .uploading { steps.stopUpload.append(id) }
        remove(id, &steps)
        pump(item.conversation, now, &steps)
        return (item.wasTransmitted ? .mayHaveBeenStored : .cancelled, effects(of: steps))
    }
}
