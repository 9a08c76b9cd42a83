import DequeModule
import Dispatch
package import Foundation
package import ScrollbackModel
import Synchronization

/// The one writer.
///
/// It takes all that waits, carries it out in one transaction, tells subscribers, answers, and takes what came
/// meanwhile. There is no timer: under load a batch is as large as the last commit was slow.
package final class Log: Sendable {
    /// Where the writer works.
    package enum Execution: Sendable {
        /// On a thread of its own.
        case thread
        /// On the caller's thread, before `submit` returns: for tests that replay a history step by step.
        case inline
    }

    /// The most jobs of one transaction, so that the first of a flood is not kept waiting for the last.
    static let maximumBatch = 512

    private let store: any MessageStore
    private let clock: @Sendable () -> Date
    private let publish: @Sendable ([Event], _ commit: Int64) -> Void
    private let record: @Sendable (Transaction) throws -> Recorded
    private let recorded: @Sendable (Recorded) -> Void
    private let observe: @Sendable (CommitReport) -> Void
    private let settings: @Sendable () -> ServerSettings
    private let execution: Execution
    private let maximumQueue: Int
    private let queue = DispatchQueue(label: "scrollback.log", qos: .userInitiated)
    private let state = Mutex(State())

    /// The newest time given; touched by the writer only, under the lock for the compiler's sake.
    private let newest: Mutex<Timetoken>

    private struct State {
        var waiting: Deque<any Job> = []
        var isRunning = false
        var isClosed = false
    }

    /// - Parameters:
    ///   - publish: told the events of each commit and its number, in the order of commits, on the writer's thread.
    ///   - settings: what is set, asked for each transaction.
    ///   - record: writes down, in the transaction, what is to be told elsewhere of what it did, and says what.
    ///   - recorded: told what was written down, after the commit.
    ///   - observe: told how each commit went.
    package init(
        store: any MessageStore, execution: Execution, maximumQueue: Int = 10_000,
        settings: @escaping @Sendable () -> ServerSettings = { ServerSettings() },
        clock: @escaping @Sendable () -> Date, publish: @escaping @Sendable ([Event], _ commit: Int64) -> Void,
        record: @escaping @Sendable (Transaction) throws -> Recorded = { _ in Recorded() },
        recorded: @escaping @Sendable (Recorded) -> Void = { _ in },
        observe: @escaping @Sendable (CommitReport) -> Void = { _ in }
    ) throws {
        self.record = record
        self.recorded = recorded
        self.store = store
        newest = Mutex(try store.newest)
        self.execution = execution
        self.maximumQueue = maximumQueue
        self.clock = clock
        self.publish = publish
        self.observe = observe
        self.settings = settings
    }

    private enum Admission { case run, wait, refuse(ChatError) }

    /// How busy the writer is.
    package let load = LoadMeter()

    /// How many jobs wait.
    package var depth: Int { state.withLock { $0.waiting.count } }

    /// Queues a change.
    ///
    /// Jobs are carried out in the order they were submitted.
    ///
    /// - Parameters:
    ///   - body: the change. It checks before it changes anything, and throws when it must not be.
    ///   - completion: told the outcome after the commit, on the writer's thread: it must not block.
    package func submit<Answer: Sendable>(
        _ body: @escaping @Sendable (Transaction) throws -> Answer,
        completion: @escaping @Sendable (Result<Answer, ChatError>) -> Void
    ) {
        let next: Admission = state.withLock { state in
            if state.isClosed { return .refuse(ChatError(.shuttingDown, "the server is shutting down")) }
            if state.waiting.count >= maximumQueue {
                return .refuse(ChatError(.overloaded, "too many writes are waiting", retryAfter: 1))
            }
            state.waiting.append(Change(body: body, completion: completion))
            if state.isRunning { return .wait }
            state.isRunning = true
            return .run
        }
        switch next {
        case .wait: break
        case .refuse(let error): completion(.failure(error))
        case .run:
            switch execution {
            case .inline: drain()
            case .thread: queue.async { self.drain() }
            }
        }
    }

    /// Waits for what was submitted, and refuses what comes after.
    package func close() {
        state.withLock { $0.isClosed = true }
        if execution == .thread { queue.sync {} }
    }

    private func drain() {
        while let batch = takeBatch() { carryOut(batch) }
    }

    private func takeBatch() -> [any Job]? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isRunning = false
                return nil
            }
            let count = min(state.waiting.count, Self.maximumBatch)
            let batch = Array(state.waiting.prefix(count))
            state.waiting.removeFirst(count)
            return batch
        }
    }

    private func carryOut(_ batch: [any Job]) {
        let start = DispatchTime.now()
        do {
            let now = max(Timetoken(clock()), Timetoken(rawValue: newest.withLock { $0.rawValue } + 1))
            let settings = settings()
            let (events, commit, noted) = try store.write { writer, commit in
                let transaction = Transaction(
                    store: writer, now: now, commit: commit, generation: store.generation,
                    mediaLimits: settings.mediaLimits, settings: settings.people)
                for job in batch { try job.run(in: transaction) }
                try transaction.flush()
                let noted = try record(transaction)
                newest.withLock { $0 = max($0, transaction.newest) }
                return (transaction.events, commit, noted)
            }
            let nanoseconds = DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds
            publish(events, commit)
            recorded(noted)
            for job in batch { job.finish(nil) }
            load.add(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds)
            observe(CommitReport(jobs: batch.count, seconds: Double(nanoseconds) / 1e9, failed: false))
        } catch {
            let failure = error as? ChatError ?? ChatError(.internalError, "the store failed", cause: error)
            observe(CommitReport(jobs: batch.count, seconds: 0, failed: true))
            if batch.count > 1, failure.code != .storageFull {
                // One of them may be at fault: the others must not pay for it.
                for job in batch { carryOut([job]) }
            } else {
                for job in batch { job.finish(failure) }
            }
        }
    }
}

/// What a transaction wrote down that is to be told elsewhere.
package struct Recorded: Sendable {
    /// How many deliveries to the operator's program.
    var deliveries = 0
    /// Whether devices are to be told of something by push.
    var pushes = false

    package init() {}
}

/// How a commit went.
package struct CommitReport: Sendable {
    package var jobs: Int
    package var seconds: Double
    package var failed: Bool
}

/// A change that waits for its turn.
private protocol Job: AnyObject, Sendable {
    /// Carries it out; throws only what must undo the whole transaction.
    func run(in transaction: Transaction) throws
    /// Answers it: with `failure` if there was one, else with what `run` found.
    func finish(_ failure: ChatError?)
}

private final class Change<Answer: Sendable>: Job {
    private let body: @Sendable (Transaction) throws -> Answer
    private let completion: @Sendable (Result<Answer, ChatError>) -> Void
    private let answer = Mutex<Result<Answer, ChatError>?>(nil)

    init(
        body: @escaping @Sendable (Transaction) throws -> Answer,
        completion: @escaping @Sendable (Result<Answer, ChatError>) -> Void
    ) {
        self.body = body
        self.completion = completion
    }

    func run(in transaction: Transaction) throws {
        do {
            let value = try body(transaction)
            answer.withLock { $0 = .success(value) }
        } catch let refusal as ChatError where refusal.status < 500 || refusal.code == .overloaded {
            // The rules said no before anything changed; so did the operator's program, by not being there.
            answer.withLock { $0 = .failure(refusal) }
        }
    }

    func finish(_ failure: ChatError?) {
        if let failure { return completion(.failure(failure)) }
        let result = answer.withLock { $0 } ?? .failure(ChatError(.internalError, "the change was not carried out"))
        completion(result)
    }
}
