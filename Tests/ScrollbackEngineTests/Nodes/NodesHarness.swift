import Foundation
import ScrollbackEngine
import ScrollbackModel
import Synchronization

/// Several nodes on one store in memory, whose notes can be lost, repeated and reordered.
final class NodesHarness: Sendable {
    let clock = TestClock()
    let store: RevertibleStore
    let bus = LossyBus()
    let nodes: [EngineHarness]

    init(_ count: Int = 2) throws {
        store = RevertibleStore(MemoryStore(generation: 0x5EED, clock: { [clock] in clock.now }))
        let key = Checkpoints.makeKey()
        nodes = try (0..<count).map { [store, bus, clock] index in
            let node = try Node(store, name: "n\(index)", version: "1.0")
            node.connect(to: bus.endpoint(of: node))
            return try EngineHarness(
                store: store, node: node, clock: clock, idsAbove: UInt64(index) << 32, checkpointKey: key)
        }
    }

    subscript(index: Int) -> EngineHarness { nodes[index] }

    /// Lets all nodes deliver everything.
    func settle() throws {
        for node in nodes { try node.engine.node?.catchUp() }
    }
}

/// A store in memory that can lose its newest commits, as a failover to a standby does that was behind.
final class RevertibleStore: SharedStore {
    private struct State {
        var base: MemoryStore
        var failingWrites = 0
        var adopted: [UInt64] = []
    }

    private let state: Mutex<State>

    init(_ base: MemoryStore) { state = Mutex(State(base: base)) }

    private var base: MemoryStore { state.withLock { $0.base } }

    /// Returns a copy, to which the store can go back.
    func copy() -> MemoryStore { base.copy() }

    /// Replaces the contents by those of an earlier copy.
    func goBack(to copy: MemoryStore) { state.withLock { $0.base = copy } }

    /// Lets the next transaction fail.
    func failNextWrite() { state.withLock { $0.failingWrites += 1 } }

    /// The generations that nodes have learned from notes of other nodes.
    var adopted: [UInt64] { state.withLock { $0.adopted } }

    var generation: UInt64 { base.generation }
    var lastCommit: Int64 { base.lastCommit }
    var newest: Timetoken { base.newest }
    var isFirst: Bool { base.isFirst }

    func read<Answer>(_ body: (any StoreReader) throws -> Answer) throws -> Answer { try base.read(body) }

    func write<Answer>(_ body: (any StoreWriter, _ commit: Int64) throws -> Answer) throws -> Answer {
        try base.write(body)
    }

    func write(
        after known: Int64, as id: CommitID, expecting reads: () -> ExpectedReads,
        _ body: (any StoreWriter, Turn) throws -> [UInt8]
    ) throws {
        let fails = state.withLock { state in
            defer { state.failingWrites = max(0, state.failingWrites - 1) }
            return state.failingWrites > 0
        }
        if fails { throw ChatError(.overloaded, "The database does not answer.") }
        try base.write(after: known, as: id, expecting: reads, body)
    }

    func notes(from number: Int64) -> NotePage { base.notes(from: number) }
    func dropNotes(olderThan seconds: TimeInterval) {}
    func adopt(_ generation: UInt64, of commit: Int64) { state.withLock { $0.adopted.append(generation) } }
    func vacuum() -> Bool { false }
}

/// Passes messages between nodes when the test says so.
final class LossyBus: Sendable {
    private struct State {
        var nodes: [Node] = []
        var waiting: [(target: Int, bytes: [UInt8])] = []
    }

    private let state = Mutex(State())

    /// The connection of one node.
    private final class Endpoint: NodeBus {
        let bus: LossyBus
        let index: Int
        let maximumBytes = 2_000
        let isConnected = true

        init(_ bus: LossyBus, _ index: Int) {
            self.bus = bus
            self.index = index
        }

        func send(_ bytes: [UInt8]) { bus.send(bytes, from: index) }
    }

    func endpoint(of node: Node) -> any NodeBus {
        state.withLock { state in
            state.nodes.append(node)
            return Endpoint(self, state.nodes.count - 1)
        }
    }

    private func send(_ bytes: [UInt8], from index: Int) {
        state.withLock { state in
            for target in state.nodes.indices where target != index { state.waiting.append((target, bytes)) }
        }
    }

    /// Loses all waiting messages.
    func loseAll() { state.withLock { $0.waiting = [] } }

    /// Delivers all waiting messages in order.
    func deliverAll() {
        while let (node, bytes) = take({ $0.isEmpty ? nil : 0 }) { node.receive(bytes) }
    }

    /// Delivers one of the waiting messages, drops it, or delivers it and keeps it for later.
    func deliverAny(using generator: inout some RandomNumberGenerator) {
        guard let (node, bytes) = take({ $0.indices.randomElement(using: &generator) }) else { return }
        let fate = Int.random(in: 0..<10, using: &generator)
        if fate == 0 { return }
        node.receive(bytes)
        if fate == 1 {
            state.withLock { state in
                guard let target = state.nodes.firstIndex(where: { $0 === node }) else { return }
                state.waiting.append((target, bytes))
            }
        }
    }

    private func take(_ choose: ([(target: Int, bytes: [UInt8])]) -> Int?) -> (Node, [UInt8])? {
        state.withLock { state in
            choose(state.waiting).map { index in
                let message = state.waiting.remove(at: index)
                return (state.nodes[message.target], message.bytes)
            }
        }
    }
}
