import Dispatch
package import Foundation
package import ScrollbackModel
package import Synchronization

/// The single writer of the store.
///
/// The writer takes the waiting writes, runs them in one transaction, publishes the events and completes the writes. It
/// never waits to fill a batch: the batch grows with the time that a commit takes.
///
/// Two bounds keep one user's burst from delaying another user's write: the number of writes in a transaction, and the
/// time after which no further write begins. Users take turns, so the other user's write is among the first of the
/// next batch.
package final class CommitQueue: Sendable {
    /// Where the writer runs.
    package enum Execution: Sendable {
        /// On its own thread.
        case thread
        /// On the caller's thread, before `submit` returns; for tests that replay a sequence of operations step by
        /// step.
        case inline
    }

    /// The maximum number of writes in a transaction.
    static let maximumBatch = 512
    /// The default time after which a transaction begins no further write.
    ///
    /// The remaining writes of the batch go back to the queue.
    package static let standardBatchTime = Duration.milliseconds(20)

    private let store: any MessageStore
    /// The nodes that share the store, if several do.
    private let node: Node?
    private let clock: @Sendable () -> Date
    private let publish: @Sendable ([Event], _ commit: Int64) -> Void
    private let recordOutbound: @Sendable (Transaction) throws -> OutboundSummary
    private let outboundCommitted: @Sendable (OutboundSummary) -> Void
    private let expectsPushes: @Sendable () -> Bool
    private let observe: @Sendable (CommitReport) -> Void
    private let settings: @Sendable () -> ServerSettings
    private let ledger: QuotaLedger
    private let space: StorageSpace
    private let execution: Execution
    private let batchTime: Duration
    private let queue = DispatchQueue(label: "scrollback.commits", qos: .userInitiated)
    private let state: Mutex<State>

    /// The newest time assigned to a message.
    ///
    /// Only the writer accesses it; the lock satisfies the compiler.
    private let newest: Mutex<Timetoken>

    /// The last batch, if it is not known whether its transaction was committed.
    private let unconfirmed = Mutex<Unconfirmed?>(nil)

    private struct State {
        var waiting: WriterQueue<QueuedWrite>
        var isRunning = false
        var isClosed = false
        var refusals: [WriterQueue<QueuedWrite>.Bound: Int] = [:]
    }

    /// Creates a queue that writes to a store.
    ///
    /// - Parameters:
    ///   - maximumQueue: The number of waiting writes above which `submit` refuses new ones.
    ///   - maximumOwnQueue: The same for the writes of one user.
    ///   - batchTime: The time after which a transaction begins no further write.
    ///   - node: This server as one of the nodes that share the store, if several do.
    ///   - settings: Returns the current settings; called for each transaction.
    ///   - ledger: What users have added today.
    ///   - space: The free space of the store's volume.
    ///   - publish: Receives the events and the number of each commit, in commit order, on the writer's thread.
    ///   - recordOutbound: Stores, within the transaction, the webhook deliveries and pushes that result from it, and
    ///     returns a summary.
    ///   - outboundCommitted: Receives that summary after the commit.
    ///   - expectsPushes: Returns whether `recordOutbound` looks for users who may receive pushes.
    ///   - observe: Receives a report after each commit or failed transaction.
    package init(
        store: any MessageStore, node: Node? = nil, execution: Execution, maximumQueue: Int = 10_000,
        maximumOwnQueue: Int = 1_000, batchTime: Duration = standardBatchTime,
        settings: @escaping @Sendable () -> ServerSettings = { ServerSettings() },
        ledger: QuotaLedger = .init(), space: StorageSpace = .unlimited,
        clock: @escaping @Sendable () -> Date, publish: @escaping @Sendable ([Event], _ commit: Int64) -> Void,
        recordOutbound: @escaping @Sendable (Transaction) throws -> OutboundSummary = { _ in OutboundSummary() },
        outboundCommitted: @escaping @Sendable (OutboundSummary) -> Void = { _ in },
        expectsPushes: @escaping @Sendable () -> Bool = { false },
        observe: @escaping @Sendable (CommitReport) -> Void = { _ in }
    ) throws {
        self.recordOutbound = recordOutbound
        self.outboundCommitted = outboundCommitted
        self.expectsPushes = expectsPushes
        self.store = store
        self.node = node
        newest = Mutex(try store.newest)
        self.execution = execution
        self.batchTime = batchTime
        state = Mutex(State(waiting: WriterQueue(maximumCount: maximumQueue, maximumOwnCount: maximumOwnQueue)))
        self.clock = clock
        self.publish = publish
        self.observe = observe
        self.settings = settings
        self.ledger = ledger
        self.space = space
    }

    private enum Admission { case run, wait, refuse(ChatError) }

    /// The fraction of time during which the writer is busy.
    package let load = LoadMeter()
    /// How often other work has paused because the writer was busy, since the start.
    package let pauses = Atomic<Int>(0)

    /// The number of waiting writes.
    package var depth: Int { state.withLock { $0.waiting.count } }

    /// The number of writes refused because a bound of the queue was reached: by the bound of one user, and in total.
    package var refusals: (owner: Int, total: Int) {
        state.withLock { ($0.refusals[.owner] ?? 0, $0.refusals[.total] ?? 0) }
    }

    /// Queues a write.
    ///
    /// The writes of one owner run in the order in which they were submitted. Owners take turns, so that one owner's
    /// many writes don't delay another owner's few.
    ///
    /// - Parameters:
    ///   - owner: The user who caused the write, or `server`.
    ///   - footprints: The rows that the write will probably read, so that PostgreSQL reads them ahead; empty for rare
    ///     writes.
    ///   - body: The write. It performs all checks before it changes anything, and throws if a check fails.
    ///   - completion: Called with the result after the commit, on the writer's thread. It must not block.
    package func submit<Answer: Sendable>(
        for owner: WorkOwner, about footprints: [Footprint] = [],
        _ body: @escaping @Sendable (Transaction) throws -> Answer,
        completion: @escaping @Sendable (Result<Answer, ChatError>) -> Void
    ) {
        let write = QueuedWrite(footprints: footprints, body: body, completion: completion)
        admit(write) { state in
            guard let bound = state.waiting.append(write, of: owner) else { return nil }
            state.refusals[bound, default: 0] += 1
            switch bound {
            case .owner:
                let limit = state.waiting.maximumOwnCount
                return ChatError(
                    .rateLimited, "\(limit) of your changes are waiting. Wait for their answers before you send more.",
                    limit: limit, retryAfter: 1)
            case .total:
                return ChatError(.overloaded, "Too many writes are waiting. Try again later.", retryAfter: 1)
            }
        }
    }

    /// Completes after all writes that any user submitted before this call.
    package func waitForSubmitted(completion: @escaping @Sendable (Result<Void, ChatError>) -> Void) {
        let barrier = QueuedWrite(footprints: [], body: { _ in }, completion: completion)
        admit(barrier) { state in
            state.waiting.appendBarrier(barrier)
            return nil
        }
    }

    /// Queues a write with `add`, and starts the writer if it is idle.
    private func admit(_ write: QueuedWrite, _ add: (inout State) -> ChatError?) {
        let next: Admission = state.withLock { state in
            if state.isClosed { return .refuse(ChatError(.shuttingDown, "The server is shutting down.")) }
            if let refusal = add(&state) { return .refuse(refusal) }
            if state.isRunning { return .wait }
            state.isRunning = true
            return .run
        }
        switch next {
        case .wait: break
        case .refuse(let error): write.finish(error)
        case .run:
            switch execution {
            case .inline: drain()
            case .thread: queue.async { self.drain() }
            }
        }
    }

    /// Waits for all submitted writes, and refuses new ones.
    package func close() {
        state.withLock { $0.isClosed = true }
        switch execution {
        case .inline: abandonUnconfirmedCommit()
        case .thread: queue.sync { abandonUnconfirmedCommit() }
        }
    }

    private func drain() {
        while let batch = takeBatch() {
            let left = execute(batch)
            state.withLock { $0.waiting.putBack(left) }
        }
    }

    private func takeBatch() -> [QueuedWrite]? {
        state.withLock { state in
            let batch = state.waiting.takeBatch(limit: Self.maximumBatch)
            if batch.isEmpty { state.isRunning = false }
            return batch.isEmpty ? nil : batch
        }
    }

    /// What a transaction did, to announce it after the commit.
    private struct Outcome {
        var commit: Int64
        var effects: CommitEffects
        /// The note for the other nodes, if there are any.
        var note: CommitNote?
    }

    /// A batch whose commit was not confirmed.
    ///
    /// Its callers wait until the outcome is known.
    private struct Unconfirmed {
        var batch: [QueuedWrite]
        var outcome: Outcome?
        var error: UnconfirmedCommit
        var start: DispatchTime
    }

    /// Runs writes in a transaction, as far as its time allows.
    ///
    /// - Returns: The number of writes at the end of `taken` that did not begin.
    @discardableResult
    private func execute(_ taken: [QueuedWrite]) -> Int {
        var batch = taken
        let start = DispatchTime.now()
        var outcome: Outcome?
        do {
            try settleUnconfirmedCommit()
            if let node {
                let id = CommitID.random()
                try node.write(as: id, expecting: { expectedReads(of: batch) }) { writer, turn in
                    newest.withLock { $0 = max($0, turn.newest) }
                    let effects = try run(&batch, in: writer, turn.commit, at: turn.time)
                    let note = CommitNote(number: turn.commit, id: id, body: effects.body)
                    outcome = Outcome(commit: turn.commit, effects: effects, note: note)
                    return note
                }
            } else {
                try store.write(expecting: { expectedReads(of: batch) }) { writer, commit in
                    outcome = Outcome(commit: commit, effects: try run(&batch, in: writer, commit, at: clock()))
                }
            }
            finish(batch, outcome, start)
        } catch let error as UnconfirmedCommit {
            unconfirmed.withLock { $0 = Unconfirmed(batch: batch, outcome: outcome, error: error, start: start) }
            do { try settleUnconfirmedCommit() } catch { settleLater() }
        } catch {
            let failure = error as? ChatError ?? ChatError(.internalError, "The store failed.", cause: error)
            if batch.count > 1, failure.code == .internalError {
                // One write may have caused the failure, so each one is retried in a transaction of its own.
                observe(CommitReport(writeCount: batch.count, seconds: 0, failed: true))
                for write in batch { execute([write]) }
            } else {
                fail(batch, failure)
            }
        }
        return taken.count - batch.count
    }

    private func expectedReads(of batch: [QueuedWrite]) -> ExpectedReads {
        var reads = ExpectedReads()
        reads.footprints = batch.flatMap(\.footprints)
        reads.usage = ledger.unknown(reads.footprints.map(\.user), on: UsageRow.day(of: clock()))
        reads.includesPushRecipients = expectsPushes()
        return reads
    }

    /// Runs the writes of a batch.
    ///
    /// Writes that have not begun after `batchTime` are removed from the batch.
    private func run(
        _ batch: inout [QueuedWrite], in writer: any StoreWriter, _ commit: Int64, at time: Date
    ) throws -> CommitEffects {
        let now = max(Timetoken(time), Timetoken(rawValue: newest.withLock { $0.rawValue } + 1))
        let transaction = Transaction(
            store: writer, now: now, commit: commit, generation: store.generation, settings: settings(),
            ledger: ledger, space: space)
        let end = ContinuousClock.now + batchTime
        for (index, write) in batch.enumerated() {
            if index > 0, ContinuousClock.now >= end {
                batch.removeSubrange(index...)
                break
            }
            try write.run(in: transaction)
        }
        try transaction.flush()
        let summary = try recordOutbound(transaction)
        newest.withLock { $0 = max($0, transaction.newest) }
        return CommitEffects(events: transaction.events, summary: summary)
    }

    private func finish(_ batch: [QueuedWrite], _ outcome: Outcome?, _ start: DispatchTime) {
        let nanoseconds = DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds
        if let outcome {
            let announce = {
                self.publish(outcome.effects.events, outcome.commit)
                self.outboundCommitted(outcome.effects.summary)
            }
            if let node, let note = outcome.note { node.committed(note, announce) } else { announce() }
        }
        for write in batch { write.finish(nil) }
        load.add(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds)
        observe(CommitReport(writeCount: batch.count, seconds: Double(nanoseconds) / 1e9, failed: false))
    }

    private func fail(_ batch: [QueuedWrite], _ failure: ChatError) {
        observe(CommitReport(writeCount: batch.count, seconds: 0, failed: true))
        for write in batch { write.finish(failure) }
    }

    // MARK: Unconfirmed commits

    /// Completes the last batch if its commit was not confirmed.
    ///
    /// This comes before the next transaction, so that events are published in the order of the commits.
    ///
    /// - Throws: The error of the store if it can't say yet whether the commit succeeded.
    private func settleUnconfirmedCommit() throws {
        guard let last = unconfirmed.withLock({ $0 }) else { return }
        let wasCommitted = try last.error.wasCommitted()
        unconfirmed.withLock { $0 = nil }
        if wasCommitted {
            finish(last.batch, last.outcome, last.start)
        } else {
            let message = "The database failed, so nothing was stored. Send the request again."
            fail(last.batch, ChatError(.overloaded, message, retryAfter: 1, cause: last.error.cause))
        }
    }

    /// Settles an unconfirmed commit even if no further write is submitted.
    private func settleLater() {
        guard execution == .thread else { return }
        queue.asyncAfter(deadline: .now() + .seconds(1)) { [self] in
            do { try settleUnconfirmedCommit() } catch { settleLater() }
        }
    }

    /// Fails the last batch if it is still unknown whether its commit succeeded.
    private func abandonUnconfirmedCommit() {
        guard let last = unconfirmed.withLock({ $0 }) else { return }
        unconfirmed.withLock { $0 = nil }
        let message = "The database did not confirm the commit, which may have succeeded. Repeat the request."
        fail(last.batch, ChatError(.timeout, message, cause: last.error.cause))
    }
}

/// The result of a commit.
package struct CommitReport: Sendable {
    /// The number of writes.
    package var writeCount: Int
    package var seconds: Double
    package var failed: Bool
}
