import ScrollbackModel
import Synchronization

/// Tells those who show something that it changed, after the transaction that changed it.
///
/// Many changes while somebody is busy are one.
final class ChangeCenter: Sendable {
    enum Subject: Hashable {
        case conversation(ConversationID)
        /// The list of recents and the counts.
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

    /// One element for each change, the first at once.
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
        // Nothing changes any more.
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

    /// Any conversation may be concerned: all were read, or somebody has another name or picture.
    func changedAnything() {
        for observer in state.withLock({ Array($0.observers.values) }) { observer.continuation.yield() }
    }

    /// Nothing changed but how a conversation is looked at.
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
