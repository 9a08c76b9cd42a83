public import ScrollbackModel
import Synchronization

/// Something that happened, for bots and tests.
///
/// Screens use views instead, which are always whole.
public enum ClientEvent: Sendable {
    /// A message came, from anybody, this user's other devices included.
    case message(Message)
    /// A message came that is not stored.
    case transient(TransientMessage)
    /// A message changed, or is gone.
    case changed(Message)
    /// Somebody's read position moved: this user's, or a peer's in a direct conversation.
    case read(ConversationID, UserID, Seq)
    /// Somebody joined or changed their role; without a role, somebody left.
    case member(ConversationID, UserID, Role?)
    /// Somebody began to write something, or stopped; who goes on says so every few seconds.
    case typing(ConversationID, UserID, isTyping: Bool)
    /// A conversation's settings changed, or it was deleted.
    case conversation(ConversationID, isDeleted: Bool)
    /// So many events were dropped, because nobody took them.
    case missed(Int)
}

/// Hands events to every loop that takes them, a bounded number each.
final class EventCenter: Sendable {
    private let state = Mutex(State())
    private let capacity: Int

    private struct State {
        var observers: [Int: Observer] = [:]
        var lastObserver = 0
        var hasEnded = false
    }

    private struct Observer {
        var continuation: AsyncStream<ClientEvent>.Continuation
        var missed = 0
    }

    init(capacity: Int) {
        self.capacity = capacity
    }

    func events() -> AsyncStream<ClientEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ClientEvent.self, bufferingPolicy: .bufferingOldest(capacity))
        let id: Int? = state.withLock { state in
            guard !state.hasEnded else { return nil }
            state.lastObserver += 1
            state.observers[state.lastObserver] = Observer(continuation: continuation)
            return state.lastObserver
        }
        guard let id else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.observers.removeValue(forKey: id) }
        }
        return stream
    }

    func send(_ event: ClientEvent) {
        state.withLock { state in
            for id in state.observers.keys {
                guard var observer = state.observers[id] else { continue }
                if observer.missed > 0 {
                    guard case .enqueued = observer.continuation.yield(.missed(observer.missed)) else {
                        observer.missed += 1
                        state.observers[id] = observer
                        continue
                    }
                    observer.missed = 0
                }
                if case .dropped = observer.continuation.yield(event) { observer.missed += 1 }
                state.observers[id] = observer
            }
        }
    }

    func end() {
        let all = state.withLock { state in
            state.hasEnded = true
            defer { state.observers = [:] }
            return Array(state.observers.values)
        }
        for observer in all { observer.continuation.finish() }
    }
}
