import Synchronization

/// An ordered queue of items for a single consumer.
///
/// The consumer takes all queued items at once, so that a burst is applied in few transactions.
final class Mailbox<Item: Sendable>: Sendable {
    private let state = Mutex(State())

    private struct State {
        var items: [Item] = []
        var waiter: CheckedContinuation<[Item], Never>?
        var isClosed = false
    }

    /// Adds an item to the queue.
    ///
    /// - Returns: Whether the item was queued; `false` after the mailbox was closed.
    @discardableResult
    func post(_ item: Item) -> Bool {
        var isAccepted = true
        let waiter: CheckedContinuation<[Item], Never>? = state.withLock { state in
            guard !state.isClosed else {
                isAccepted = false
                return nil
            }
            state.items.append(item)
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: drain())
        return isAccepted
    }

    /// Waits for items and returns all of them; returns an empty array after the mailbox was closed.
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

    /// Closes the mailbox, so that the consumer ends and later items are refused.
    ///
    /// - Returns: The items that the consumer did not take.
    func close() -> [Item] {
        let waiter: CheckedContinuation<[Item], Never>? = state.withLock { state in
            state.isClosed = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: [])
        return drain()
    }

    private func drain() -> [Item] {
        state.withLock { state in
            defer { state.items = [] }
            return state.items
        }
    }
}
