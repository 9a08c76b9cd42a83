import Synchronization

/// What waits for the one consumer, in order.
///
/// The consumer takes everything at once, so that a burst is applied in few transactions.
final class Mailbox<Item: Sendable>: Sendable {
    private let state = Mutex(State())

    private struct State {
        var items: [Item] = []
        var waiter: CheckedContinuation<[Item], Never>?
        var isClosed = false
    }

    /// - Returns: whether the consumer will get it; not once the mailbox is closed.
    @discardableResult
    func post(_ item: Item) -> Bool {
        var isTaken = true
        let waiter: CheckedContinuation<[Item], Never>? = state.withLock { state in
            guard !state.isClosed else {
                isTaken = false
                return nil
            }
            state.items.append(item)
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: takeNow())
        return isTaken
    }

    /// Everything that waits, at least one item; empty once closed.
    func take() async -> [Item] {
        await withCheckedContinuation { continuation in
            let items: [Item]? = state.withLock { state in
                if state.items.isEmpty, !state.isClosed {
                    state.waiter = continuation
                    return nil
                }
                defer { state.items = [] }
                return state.items
            }
            if let items { continuation.resume(returning: items) }
        }
    }

    /// Lets the consumer end; what comes after is refused.
    ///
    /// - Returns: what it did not take.
    func close() -> [Item] {
        let waiter: CheckedContinuation<[Item], Never>? = state.withLock { state in
            state.isClosed = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: [])
        return takeNow()
    }

    private func takeNow() -> [Item] {
        state.withLock { state in
            defer { state.items = [] }
            return state.items
        }
    }
}
