import ScrollbackEngine
import ScrollbackModel
import Synchronization

/// A memory store with scripted failures.
final class FailingStore: MessageStore {
    enum Failure {
        case commit, full
        /// The answer of a commit is lost, which succeeded.
        case lostAnswer
        /// The answer of a commit is lost, which failed.
        case lostCommit
    }
    struct Broken: Error {}

    private let base = MemoryStore(generation: 0xBAD)
    /// The outcomes of the next transactions. A transaction succeeds if its outcome is `nil` or missing.
    let failures = Mutex<[Failure?]>([])
    /// The ID of a message that makes its transaction fail.
    let badID = Mutex<MessageID?>(nil)
    let attempts = Mutex(0)
    /// Whether the store can say if a transaction was committed whose answer was lost.
    let canAnswer = Mutex(true)

    var generation: UInt64 { base.generation }
    var lastCommit: Int64 { get throws { base.lastCommit } }
    var newest: Timetoken { get throws { base.newest } }

    func vacuum() -> Bool { false }

    func read<Answer>(_ body: (any StoreReader) throws -> Answer) throws -> Answer { try base.read(body) }

    func write<Answer>(_ body: (any StoreWriter, _ commit: Int64) throws -> Answer) throws -> Answer {
        attempts.withLock { $0 += 1 }
        var failure: Failure?
        let answer = try base.write { writer, commit in
            let answer = try body(writer, commit)
            failure = failures.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            if failure == .full { throw ChatError(.storageFull, "The disk is full.") }
            if failure == .commit { throw Broken() }
            if failure == .lostCommit { throw unconfirmed(wasCommitted: false) }
            // The check runs at the end, like a deferred constraint: the job itself succeeded.
            if let bad = badID.withLock({ $0 }), let row = try writer.conversation(.group("g")),
                try writer.message(bad, in: row.number) != nil
            {
                throw Broken()
            }
            return answer
        }
        if failure == .lostAnswer { throw unconfirmed(wasCommitted: true) }
        return answer
    }

    private func unconfirmed(wasCommitted: Bool) -> UnconfirmedCommit {
        UnconfirmedCommit(cause: Broken()) { [self] in
            guard canAnswer.withLock({ $0 }) else { throw ChatError(.overloaded, "The database can't be reached.") }
            return wasCommitted
        }
    }
}
