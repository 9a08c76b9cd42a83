import ScrollbackModel
import Synchronization

/// Notifies observers of changes, after the transaction that made them.
///
/// Notifications are coalesced while an observer is busy.
final class ChangeCenter: Sendable {
    enum Subject: Hashable {
        case conversation(ConversationID)
        /// The list of recent conversations and the unread counts.
        case recents
    }

    private let state = Mutex(State())

    private struct Observer {
        var subject: Subject
        var continuation: AsyncStream<Void>.Continuation
    }

    private struct State {
        var observers: [Int: Observer] = [:]
        var lastObserver = 0
        var hasEnded = false
    }

    /// Returns a stream with one element for each change, and an initial one.
    func changes(of subject: Subject) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (id, hasEnded) = state.withLock { state in
            state.lastObserver += 1
            if !state.hasEnded {
                state.observers[state.lastObserver] = Observer(subject: subject, continuation: continuation)
            }
            return (state.lastObserver, state.hasEnded)
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.observers.removeValue(forKey: id) }
        }
        continuation.yield()
        // After `end()`, the initial element is the only one.
        if hasEnded { continuation.finish() }
        return stream
    }

    func changed(_ conversations: Set<ConversationID>) {
        let concerned = state.withLock { state in
            state.observers.values.filter { observer in
                switch observer.subject {
                case .conversation(let id): conversations.contains(id)
                case .recents: true
                }
            }
        }
        for observer in concerned { observer.continuation.yield() }
    }

    /// Notifies all observers, for changes that may affect any conversation, such as a user's new name.
    func changedAnything() {
        for observer in state.withLock({ Array($0.observers.values) }) { observer.continuation.yield() }
    }

    /// Notifies only the observers of one conversation, for changes that don't affect the list of recent conversations.
    func changed(only conversation: ConversationID) {
        let concerned = state.withLock { $0.observers.values.filter { $0.subject == .conversation(conversation) } }
        for observer in concerned { observer.continuation.yield() }
    }

    func end() {
        let all = state.withLock { state in
            defer { (state.observers, state.hasEnded) = ([:], true) }
            return Array(state.observers.values)
        }
        for observer in all { observer.continuation.finish() }
    }
}
