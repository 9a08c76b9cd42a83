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

    private let observers = Mutex<[Int: Observer]>([:])
    private let lastObserver = Atomic<Int>(0)

    private struct Observer {
        var subject: Subject
        var continuation: AsyncStream<Void>.Continuation
    }

    /// One element for each change, the first at once.
    func changes(of subject: Subject) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let id = lastObserver.wrappingAdd(1, ordering: .relaxed).newValue
        observers.withLock { $0[id] = Observer(subject: subject, continuation: continuation) }
        continuation.onTermination = { [weak self] _ in
            self?.observers.withLock { _ = $0.removeValue(forKey: id) }
        }
        continuation.yield()
        return stream
    }

    func changed(_ conversations: Set<ConversationID>) {
        let concerned = observers.withLock { observers in
            observers.values.filter { observer in
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
        for observer in observers.withLock({ Array($0.values) }) { observer.continuation.yield() }
    }

    /// Nothing changed but how a conversation is looked at.
    func changed(only conversation: ConversationID) {
        let concerned = observers.withLock { $0.values.filter { $0.subject == .conversation(conversation) } }
        for observer in concerned { observer.continuation.yield() }
    }

    func end() {
        let all = observers.withLock { observers in
            defer { observers = [:] }
            return Array(observers.values)
        }
        for observer in all { observer.continuation.finish() }
    }
}
