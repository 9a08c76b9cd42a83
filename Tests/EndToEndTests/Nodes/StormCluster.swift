import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackPostgres
import TestSupport

/// Three nodes behind HAProxy, on PostgreSQL with a synchronous standby, NATS and an S3-compatible store.
struct StormCluster: Sendable {
    let database: PostgresPair
    let nats: NATSServer
    let nodes: [RunningServer]
    let balancer: HAProxy
    /// The network between the devices and the load balancer.
    let network: TestProxy

    static func start() async throws -> StormCluster {
        async let starting = PostgresPair.start()
        let nats = try await NATSServer.start()
        let bucket = try S3Bucket()
        let database = try await starting
        let url = try database.url
        var nodes: [RunningServer] = []
        for number in 0..<3 {
            let options = [
                "--store", url.text, "--bus", nats.url, "--files", bucket.url, "--node-name", "n\(number)",
                "--drain-delay", "1", "--drain-window", "1",
            ]
            let shell = "\(bucket.exports) SCROLLBACK_PUSH_RETRY_SECONDS=0.2"
            nodes.append(try await RunningServer.start(RunningServer.withoutLimits + options, shell: shell))
        }
        let balancer = try await HAProxy.start(to: nodes)
        return StormCluster(
            database: database, nats: nats, nodes: nodes, balancer: balancer,
            network: try await TestProxy(toPorts: [balancer.port]))
    }

    /// Stops the nodes.
    ///
    /// - Returns: Their exit codes.
    func stop() async throws -> [Int32] {
        var codes: [Int32] = []
        for node in nodes { codes.append(try await node.terminate()) }
        return codes
    }

    /// Repeats a request of an operator until a node carries it out.
    @discardableResult
    func admin(_ method: String, _ path: String, _ body: String? = nil) async throws -> Answer {
        let admin = API(server: network.url, token: try await nodes[0].token("admin", isAdmin: true))
        return try await eventually("\(method) \(path) is answered") {
            guard let answer = try? await admin.call(method, path, body), answer.status < 500 else { return nil }
            return answer
        }
    }
}

/// What fails in a storm.
enum Fault: CaseIterable {
    /// A node is killed and starts again.
    case killedNode
    /// A node stops as in a rolling restart, and starts again.
    case restartedNode
    /// A node is paused, as by a virtual machine, and continues.
    case pausedNode
    /// NATS is killed and starts again.
    case killedBus
    /// The primary is killed, and its standby takes over.
    case killedPrimary
    /// All connections between devices and nodes are lost.
    case cutNetwork
    /// The devices receive no bytes for a while, and then lose their connections. What the nodes sent is lost.
    case silentNetwork

    /// Causes the fault and repairs it.
    ///
    /// - Throws: An error if a node has ended before.
    func run(in cluster: StormCluster, _ generator: inout SplitMix64) async throws {
        for node in cluster.nodes where !node.isRunning {
            throw ChildProcess.Failure(description: "A node has ended: \(node.log)")
        }
        let node = cluster.nodes[Int.random(in: 0..<cluster.nodes.count, using: &generator)]
        let pause = generator.milliseconds(0...2_000)
        switch self {
        case .killedNode:
            node.kill()
            try await Task.sleep(for: pause)
            try await node.start()
        case .restartedNode:
            node.signal(SIGTERM)
            guard try await node.waitForEnd() == 0 else {
                throw ChildProcess.Failure(description: "A node failed when it stopped: \(node.log)")
            }
            try await node.start()
        case .pausedNode:
            node.signal(SIGSTOP)
            try await Task.sleep(for: pause)
            node.signal(SIGCONT)
        case .killedBus:
            cluster.nats.stop()
            try await Task.sleep(for: pause)
            try await cluster.nats.restart()
        case .killedPrimary: try await cluster.database.failOver()
        case .cutNetwork: cluster.network.cut()
        case .silentNetwork:
            cluster.network.set(.held)
            try await Task.sleep(for: pause)
            cluster.network.cut()
            cluster.network.set(.full)
        }
    }
}
