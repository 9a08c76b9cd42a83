import Foundation
import ScrollbackModel
import ScrollbackWire
import Synchronization
import TestSupport
import Testing

@testable import ScrollbackEngine

/// The requests of administrators about nodes.
@Suite("Nodes that administrators list and drain")
struct DrainNodeTests {
    private let admin = EngineHarness.admin

    private func makeNodes(_ count: Int) throws -> NodesHarness {
        let nodes = try NodesHarness(count)
        try nodes[0].make(.group("g"), members: ["alice", "bob"])
        try nodes.settle()
        announce(nodes)
        return nodes
    }

    /// Lets each node report itself, as it does every second.
    private func announce(_ nodes: NodesHarness) {
        for node in nodes.nodes { node.engine.announceNode() }
        nodes.bus.deliverAll()
    }

    /// The nodes as one of them lists them, itself first.
    private func list(_ node: EngineHarness) throws -> [NodeInfo] {
        let answer = try node.perform(ListNodes(), by: admin)
        return [answer.own] + answer.others
    }

    /// Counts how often each node is asked to drain.
    private final class Drains: Sendable {
        let counts = Mutex<[Int: Int]>([:])

        init(_ nodes: NodesHarness) {
            for (index, node) in nodes.nodes.enumerated() {
                node.engine.node?.onDrain { [self] in counts.withLock { $0[index, default: 0] += 1 } }
            }
        }

        var all: [Int: Int] { counts.withLock { $0 } }
    }

    @Test("Each node lists itself first and then the others with their connections")
    func listing() throws {
        let nodes = try makeNodes(3)
        nodes[2].engine.node?.listens(at: "http://10.0.0.3:8080")
        nodes[1].engine.lead(true)
        let device = SessionHarness(nodes[2]).device("bob")
        announce(nodes)
        let listed = try list(nodes[1])
        #expect(listed.map(\.name) == ["n1", "n0", "n2"])
        #expect(listed.map(\.isLeader) == [true, false, false])
        #expect(listed.map(\.connections) == [0, 0, 1])
        #expect(listed[2].address == "http://10.0.0.3:8080" && listed[2].version == "1.0")
        #expect(Set(listed.map(\.id)).count == 3)
        #expect(try device.isWelcome)
    }

    @Test("A request to drain reaches the node that it names, directly and over another node")
    func draining() throws {
        let nodes = try makeNodes(3)
        let drains = Drains(nodes)
        let ids = try list(nodes[0]).map { Epoch(rawValue: $0.id.bits) }
        _ = try nodes[0].perform(DrainNode(node: ids[1]), by: admin)
        #expect(drains.all == [:])
        nodes.bus.deliverAll()
        #expect(drains.all == [1: 1])
        _ = try nodes[0].perform(DrainNode(node: ids[0]), by: admin)
        #expect(drains.all == [0: 1, 1: 1])
    }

    @Test("A node that drains is listed so on all nodes, and a repeated request has no effect")
    func repeatedRequests() throws {
        let nodes = try makeNodes(2)
        let drains = Drains(nodes)
        nodes[1].engine.beginDraining()
        nodes.bus.deliverAll()
        #expect(try list(nodes[0]).map(\.isDraining) == [false, true])
        #expect(try list(nodes[1]).map(\.isDraining) == [true, false])
        _ = try nodes[0].perform(DrainNode(node: Epoch(rawValue: list(nodes[1])[0].id.bits)), by: admin)
        nodes.bus.deliverAll()
        #expect(drains.all == [:])
    }

    @Test("A node that has stopped is not listed any more, and its users are offline")
    func stoppedNode() throws {
        let nodes = try makeNodes(2)
        _ = SessionHarness(nodes[1]).device("bob")
        announce(nodes)
        #expect(!nodes[0].engine.isAway("bob"))
        let node = try #require(nodes[0].engine.node)
        #expect(node.hasOthers)
        nodes[1].engine.node?.leave()
        nodes.bus.deliverAll()
        #expect(try list(nodes[0]).map(\.name) == ["n0"])
        #expect(nodes[0].engine.isAway("bob"))
        #expect(!node.hasOthers)
    }

    @Test("An unknown node can't be drained, and a server with a store for itself has no nodes")
    func refusals() throws {
        let nodes = try makeNodes(2)
        let unknown = refusal { _ = try nodes[0].perform(DrainNode(node: Epoch(rawValue: 1)), by: admin) }
        #expect(unknown?.code == .invalidParameter && unknown?.parameter == "node")
        let alone = try EngineHarness()
        #expect(refusal { _ = try alone.perform(ListNodes(), by: admin) }?.code == .conflict)
        #expect(refusal { _ = try alone.perform(DrainNode(node: Epoch(rawValue: 1)), by: admin) }?.code == .conflict)
        let renewal = RenewGeneration(generation: Epoch(rawValue: alone.engine.store.generation))
        #expect(refusal { _ = try alone.perform(renewal, by: admin) }?.code == .conflict)
    }

    @Test("A renewed generation closes the connections to all nodes, and clients treat later messages as lost")
    func renewedGeneration() throws {
        let nodes = try makeNodes(2)
        let bob = SessionHarness(nodes[1]).device("bob")
        try nodes[0].send("a", to: .group("g"), by: "alice")
        nodes.bus.deliverAll()
        let generation = Epoch(rawValue: nodes.store.generation)
        let renewed = try nodes[0].perform(RenewGeneration(generation: generation), by: admin).generation
        nodes.bus.deliverAll()
        #expect(renewed != generation && nodes.store.generation == renewed.rawValue)
        #expect(bob.closes == [.restarting])
        let again = SessionHarness(nodes[1]).device("bob", checkpoint: try bob.checkpoint)
        #expect(try again.isWelcome && again.lostAfter != nil)
        // The same request again, because its answer was lost.
        let repeated = refusal { _ = try nodes[1].perform(RenewGeneration(generation: generation), by: admin) }
        #expect(repeated?.code == .conflict && nodes.store.generation == renewed.rawValue)
        #expect(again.closes == [])
    }

    @Test("A stopping server asks open sessions to move, and those that open later")
    func sessions() throws {
        let harness = try EngineHarness()
        let rest = Mutex<Int?>(nil)
        let sessions = SessionHarness(harness, movesWithin: { rest.withLock { $0 } })
        func isAsked(_ device: Device) throws -> [Int] {
            try device.transport.frames.compactMap { if case .moving(let within) = $0 { within } else { nil } }
        }
        let (first, silent) = (sessions.device("alice"), sessions.connect())
        rest.withLock { $0 = 5_000 }
        for device in [first, silent] { device.session.askToMove() }
        rest.withLock { $0 = 1_200 }
        let second = sessions.device("bob")
        #expect(try isAsked(first) == [5_000])
        #expect(try isAsked(silent) == [])
        #expect(try isAsked(second) == [1_200])
        #expect(try second.isWelcome)
    }
}
