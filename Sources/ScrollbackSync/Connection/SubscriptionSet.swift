package import Foundation
package import ScrollbackModel

/// What the owner of a ``SubscriptionSet`` must do.
package enum SubscriptionAction: Equatable, Sendable {
    /// Request these subscriptions in one request, of which the server grants either all or none. Report the result
    /// with ``SubscriptionSet/answered(_:_:now:using:)``.
    case subscribe([ConversationID])
    case unsubscribe(ConversationID)
    /// Report the state of the subscription to the app.
    case show(SubscriptionSet.State, ConversationID)
    /// Call ``SubscriptionSet/tick(now:)`` at this time.
    case wake(at: Date)
}

/// The state machine for subscriptions to channels and rooms.
///
/// The app can subscribe to a conversation several times. The server has one subscription for all of them, which ends
/// with the last one. Each connection requests all subscriptions again.
package struct SubscriptionSet: Sendable {
    package enum State: Equatable, Sendable {
        /// The server has not granted the subscription on this connection.
        case waiting
        case live
        case refused(ChatError)
    }

    /// The maximum number of conversations in a request.
    private let limit: Int
    private var isConnected = false
    /// The number of the app's subscriptions by conversation.
    private var counts: [ConversationID: Int] = [:]
    /// The time of the next request for a subscription that was refused temporarily.
    private var retries: [ConversationID: Date] = [:]

    package init(limit: Int) {
        self.limit = limit
    }

    package var ids: [ConversationID] { counts.keys.sorted() }

    package func contains(_ id: ConversationID) -> Bool { counts[id] != nil }

    package mutating func connected() -> [SubscriptionAction] {
        isConnected = true
        return request(ids)
    }

    package mutating func disconnected() -> [SubscriptionAction] {
        isConnected = false
        retries = [:]
        return ids.map { .show(.waiting, $0) }
    }

    /// Adds a subscription of the app to each conversation.
    package mutating func add(_ ids: some Sequence<ConversationID>) -> [SubscriptionAction] {
        var new: [ConversationID] = []
        for id in ids {
            if counts[id] == nil { new.append(id) }
            counts[id, default: 0] += 1
        }
        return request(new)
    }

    /// Removes a subscription of the app from each conversation that has one.
    package mutating func remove(_ ids: some Sequence<ConversationID>) -> [SubscriptionAction] {
        ids.flatMap { id -> [SubscriptionAction] in
            guard let count = counts[id] else { return [] }
            counts[id] = count > 1 ? count - 1 : nil
            guard count == 1 else { return [] }
            retries[id] = nil
            return [.show(.waiting, id)] + (isConnected ? [.unsubscribe(id)] : [])
        }
    }

    /// Requests subscriptions, of which the server may have ended some.
    package mutating func request(_ ids: [ConversationID]) -> [SubscriptionAction] {
        guard isConnected else { return [] }
        let wanted = ids.filter(contains)
        for id in wanted { retries[id] = nil }
        return wanted.chunks(of: limit).map { .subscribe($0) }
    }

    /// Handles the server's answer to a request.
    package mutating func answered(
        _ ids: [ConversationID], _ result: Result<Void, ChatError>, now: Date,
        using generator: inout some RandomNumberGenerator
    ) -> [SubscriptionAction] {
        let wanted = ids.filter(contains)
        switch result {
        case .success: return wanted.map { .show(.live, $0) }
        // The server has no time for the request. The app keeps waiting for its subscriptions.
        case .failure(let error) where [.rateLimited, .overloaded].contains(error.code):
            return retry(wanted, after: error, now: now, using: &generator)
        // One of the conversations caused the error.
        case .failure where ids.count > 1: return wanted.flatMap { request([$0]) }
        case .failure(let error):
            let refusals = wanted.map { SubscriptionAction.show(.refused(error), $0) }
            return refusals + (error.isTemporary ? retry(wanted, after: error, now: now, using: &generator) : [])
        }
    }

    /// The jitter keeps clients from retrying at the same time.
    private mutating func retry(
        _ ids: [ConversationID], after error: ChatError, now: Date, using generator: inout some RandomNumberGenerator
    ) -> [SubscriptionAction] {
        guard isConnected, !ids.isEmpty else { return [] }
        let date = now + (error.retryAfter ?? 5) * Double.random(in: 1...1.5, using: &generator)
        for id in ids { retries[id] = date }
        return [.wake(at: date)]
    }

    /// Requests the subscriptions whose delay has passed.
    package mutating func tick(now: Date) -> [SubscriptionAction] {
        request(retries.filter { $0.value <= now }.keys.sorted())
    }
}
