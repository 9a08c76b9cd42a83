package import Foundation
import ScrollbackModel
import Synchronization

/// This server as one of the nodes that share a store.
///
/// It delivers the commits of all nodes in one order: its own after they are committed, and those of others when their
/// notes arrive. Each transaction first delivers what was committed before it, so that it never writes with old
/// settings (decision 56).
package final class Node: Sendable {
    let store: any SharedStore
    private let order: Mutex<CommitOrder>
    /// Applies the effects of another node's commit.
    private let apply = Mutex<(@Sendable (_ effects: CommitEffects, _ commit: Int64) -> Void)?>(nil)
    /// Renews the generation of the store, which lost a commit that this node has delivered.
    private let recover = Mutex<(@Sendable (_ commit: Int64) throws -> Void)?>(nil)
    /// Why this node can't continue; `nil` if it can.
    private let failure = Mutex<CommitOrder.Failure?>(nil)
    private let leads = Atomic<Bool>(false)
    private let bus = Mutex<(any NodeBus)?>(nil)
    private let directory: Mutex<NodeDirectory>
    private let signalled = Mutex<(@Sendable (NodeSignal) -> Void)?>(nil)
    private let about: Mutex<NodeInfo>
    /// When the node last had all commits of the store, on a monotonic clock.
    private let caughtUpAt = Mutex(ContinuousClock.now)
    private let drain = Mutex<(@Sendable () -> Void)?>(nil)

    /// Joins the nodes of a store.
    ///
    /// - Parameters:
    ///   - name: The name of the node in lists and commands.
    ///   - version: The version of the server.
    package init(_ store: any SharedStore, name: String = "", version: String = "", now: Date = Date()) throws {
        self.store = store
        let number = try store.lastCommit
        guard let newest = try store.notes(from: number).notes.first, newest.number == number else {
            throw ChatError(.internalError, "The store has no note of its newest commit.")
        }
        order = Mutex(CommitOrder(after: number, id: newest.id))
        let id = NodeID.random()
        directory = Mutex(NodeDirectory(own: id))
        about = Mutex(NodeInfo(id: id, name: name, version: version, startedAt: Int64(now.timeIntervalSince1970)))
    }

    /// Sets the bus to the other nodes; without one, they read this node's commits from the store.
    package func connect(to bus: any NodeBus) { self.bus.withLock { $0 = bus } }

    /// Whether the node must poll the store for other nodes' commits, because messages of the bus may be missing.
    package var mustPoll: Bool {
        failure.withLock { $0 } != nil || order.withLock { $0.hasGap } || bus.withLock { $0 }?.isConnected != true
    }

    /// Whether this node receives messages of the others now.
    var busIsConnected: Bool { bus.withLock { $0 }?.isConnected == true }

    /// Begins to apply the effects of other nodes' commits, and to handle their signals.
    ///
    /// - Parameters:
    ///   - apply: Called in the order of the commits.
    ///   - signalled: Called with each signal of another node.
    ///   - recover: Called if the store lost a commit that this node has delivered. It renews the generation, unless
    ///     another node has done so. If it fails, it is called again.
    func start(
        apply: @escaping @Sendable (_ effects: CommitEffects, _ commit: Int64) -> Void,
        signalled: @escaping @Sendable (NodeSignal) -> Void,
        recover: @escaping @Sendable (_ commit: Int64) throws -> Void
    ) {
        self.apply.withLock { $0 = apply }
        self.signalled.withLock { $0 = signalled }
        self.recover.withLock { $0 = recover }
    }

    /// The newest commit whose events were delivered; all earlier ones were, too.
    package var position: Int64 { order.withLock { $0.last.number } }

    /// Whether this node does the work that only one node does at a time, such as sending pushes.
    package var isLeader: Bool {
        get { leads.load(ordering: .relaxed) }
        set { leads.store(newValue, ordering: .relaxed) }
    }

    // MARK: Stopping

    /// What the node reports about itself, without the number of its connections.
    var info: NodeInfo {
        var info = about.withLock { $0 }
        info.isLeader = isLeader
        let lag = caughtUpAt.withLock { $0 }.duration(to: .now)
        info.lag = Int(max(0, lag / .milliseconds(1)))
        return info
    }

    /// Sets the URL at which the node listens.
    package func listens(at address: String) { about.withLock { $0.address = address } }

    /// Sets what an administrator's request to drain this node calls.
    ///
    /// - Parameter drain: It can be called more than once.
    package func onDrain(_ drain: @escaping @Sendable () -> Void) { self.drain.withLock { $0 = drain } }

    /// Begins to stop the node, as the signal SIGTERM does.
    func beginDrain() { drain.withLock { $0 }?() }

    /// Reports to the other nodes that this one stops.
    func setDraining() { about.withLock { $0.isDraining = true } }

    /// Whether clients of this node have other nodes to move to, as far as it knows.
    package var hasOthers: Bool {
        // Without the bus, the node does not know the others.
        directory.withLock { $0.hasOthers } || bus.withLock { $0 }?.isConnected == false
    }

    /// Reports to the other nodes that this one has stopped.
    package func leave() { send(.left(about.withLock { $0.id })) }

    // MARK: Commits of other nodes

    /// Handles a message from another node that the bus delivered.
    ///
    /// It may read from the store.
    package func receive(_ bytes: some Collection<UInt8>) {
        switch BusMessage(bytes) {
        case .note(let note, let previous):
            order.withLock { order in
                for note in order.receive(note, after: previous) { deliver(note) }
            }
        case .commit:
            // If it fails, the next poll reads the commit.
            try? catchUp()
        case .signal(let bytes):
            guard let signal = try? NodeSignal(bytes) else { return }
            signalled.withLock { $0 }?(signal)
        case nil: break
        }
    }

    /// Reads and delivers what other nodes have committed.
    ///
    /// - Throws: ``CommitOrder/Failure`` if the node can't continue. Other errors are temporary.
    package func catchUp() throws {
        try endingAfterFailure {
            var hasMore = true
            while hasMore {
                let number = position
                let page = try store.notes(from: number)
                try take(page, from: number)
                hasMore = page.hasMore
            }
        }
        caughtUpAt.withLock { $0 = .now }
    }

    /// Runs a closure, and prepares the end of this node if it can't continue.
    ///
    /// - Throws: The ``CommitOrder/Failure`` of this call or of an earlier one. After a loss of commits, the generation
    ///   is renewed. If that failed, a temporary error.
    private func endingAfterFailure<Answer>(_ body: () throws -> Answer) throws -> Answer {
        if let failure = failure.withLock({ $0 }) { throw failure }
        do {
            return try body()
        } catch let failure as CommitOrder.Failure {
            if case .wentBack(let commit) = failure {
                try recover.withLock { $0 }?(commit)
                // The other nodes need not wait for their next poll to deliver the new generation.
                bus.withLock { $0 }?.send(BusMessage.commit.bytes)
            }
            self.failure.withLock { $0 = failure }
            throw failure
        }
    }

    /// Delivers all commits up to the newest one, if this node does not know it yet.
    ///
    /// Call this before a check of something that another node may have changed, and that this node has in memory.
    package func catchUp(to number: Int64) throws {
        if let failure = failure.withLock({ $0 }) { throw failure }
        if position < number { try catchUp() }
    }

    private func take(_ page: NotePage, from number: Int64) throws(CommitOrder.Failure) {
        try order.withLock { (order) throws(CommitOrder.Failure) in
            for note in try order.receive(page, from: number) { deliver(note) }
        }
        if let failure = failure.withLock({ $0 }) { throw failure }
    }

    /// Delivers a note; the lock of the order is held, so that all nodes deliver in the same order.
    ///
    /// A node that can't decode a note would go on with old settings and lists in memory. It delivers nothing more, and
    /// the next call of ``catchUp()`` or ``write(as:expecting:_:)`` throws.
    private func deliver(_ note: CommitNote) {
        guard failure.withLock({ $0 }) == nil else { return }
        do throws(ChatError) {
            let effects = try CommitEffects(body: note.body)
            for case .incarnationBegan(let row, _) in effects.events { store.adopt(row.generation, of: note.number) }
            apply.withLock { $0 }?(effects, note.number)
        } catch {
            failure.withLock { $0 = .unreadable(note.number) }
        }
    }

    // MARK: Signals

    /// Sends a signal to the other nodes.
    func send(_ signal: NodeSignal) { bus.withLock { $0 }?.send(BusMessage.signal(signal.bytes).bytes) }

    /// Uses the directory of connected users, and sends its messages in the order of its changes.
    func withDirectory<Answer>(
        _ body: (inout NodeDirectory, _ send: (NodeDirectory.Message) -> Void) -> Answer
    ) -> Answer {
        directory.withLock { directory in body(&directory) { send(.directory($0)) } }
    }

    // MARK: Own commits

    /// Begins an incarnation if no other node used the store when this one opened it.
    func beginIncarnation() throws {
        guard store.isFirst else { return }
        let id = CommitID.random()
        var note = CommitNote(number: 0, id: id, body: [])
        try write(as: id) { writer, turn in
            let row = try IncarnationRow.next(
                in: writer, at: turn.time, generation: store.generation, commit: turn.commit, newest: turn.newest)
            try writer.begin(row)
            let effects = CommitEffects(events: [.incarnationBegan(row, after: nil)])
            note = CommitNote(number: turn.commit, id: id, body: effects.body)
            return note
        }
        committed(note) {}
    }

    /// Runs a closure in one transaction, after the commits of other nodes before it were delivered.
    ///
    /// - Parameters:
    ///   - reads: Returns what the closure will probably read.
    ///   - body: Returns the note of the transaction, for ``committed(_:_:)``.
    /// - Throws: ``UnconfirmedCommit``, and `shutting-down` if the node can't continue.
    func write(
        as id: CommitID, expecting reads: () -> ExpectedReads = { ExpectedReads() },
        _ body: (any StoreWriter, Turn) throws -> CommitNote
    ) throws {
        do {
            while try !endingAfterFailure({ try writeOnce(as: id, expecting: reads, body) }) { try catchUp() }
        } catch let failure as CommitOrder.Failure {
            throw ChatError(.shuttingDown, "\(failure)", retryAfter: 1)
        }
    }

    /// - Returns: `false` if nothing was written, because this node is too far behind. Other nodes should not wait
    ///   while it catches up.
    private func writeOnce(
        as id: CommitID, expecting reads: () -> ExpectedReads, _ body: (any StoreWriter, Turn) throws -> CommitNote
    ) throws -> Bool {
        struct IsBehind: Error {}
        let known = position
        do {
            try store.write(after: known, as: id, expecting: reads) { writer, turn in
                try take(turn.earlier, from: known)
                if turn.earlier.hasMore { throw IsBehind() }
                return try body(writer, turn).body
            }
            return true
        } catch is IsBehind {
            return false
        }
    }

    /// Delivers the events of a commit of this node, and passes its note to the others.
    ///
    /// - Parameter announce: Announces what was committed. It is not called if another thread has already applied the
    ///   note.
    func committed(_ note: CommitNote, _ announce: () -> Void) {
        let previous = order.withLock { order -> CommitID? in
            let last = order.last
            let (isNew, next) = order.committed(note.number, id: note.id)
            if isNew { announce() }
            for note in next { deliver(note) }
            return last.number == note.number - 1 ? last.id : nil
        }
        guard let bus = bus.withLock({ $0 }) else { return }
        bus.send(BusMessage(note, after: previous, maximumBytes: bus.maximumBytes).bytes)
    }
}
