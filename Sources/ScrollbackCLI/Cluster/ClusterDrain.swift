import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackServer

struct ClusterDrain: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drain",
        abstract: "Move the clients of a node to the other nodes, and stop it.",
        discussion: """
            The node does the same as after SIGTERM: /readyz reports it as not ready, and after its --drain-delay, its \
            clients connect to other nodes within its --drain-window. Then its process exits with status 0. To start \
            the next process, use a service manager that restarts it (`Restart=always` of systemd).

            The command waits until the node has stopped. The exit code is 1 if it has not stopped after --timeout.
            """)

    @Argument(help: "The name or the ID of the node, as `scrollback cluster status` lists it.")
    var node: String

    @Option(help: "How long to wait, in seconds, 1...86400.")
    var timeout = 120.0

    @Flag(help: "Stop the node even if no other node serves clients.")
    var force = false

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard (1...86_400).contains(timeout) else { throw ValidationError("--timeout must be in 1...86400.") }
    }

    func run() async throws {
        try await reporting {
            let api = try connection.adminAPI()
            let start = ContinuousClock.now
            let cluster = try await nodes(api)
            let target = try cluster.node(node)
            guard force || cluster.serves(without: target) else {
                throw ChatError.invalidParameter(
                    "node", "must not be the only node that serves clients. Start another one first, or use --force")
            }
            let isAnswering = cluster.nodes.first?.id == target.id
            try await drain(target, isAnswering: isAnswering, api, until: start + .seconds(timeout))
            let seconds = start.duration(to: .now) / .seconds(1)
            if connection.json {
                Output.json { writer in
                    writer.field("node", target.name)
                    writer.field("id", target.id)
                    writer.field("seconds", (seconds * 10).rounded() / 10)
                }
            } else {
                Output.line("\(target.name) has stopped after \(Int(seconds.rounded())) seconds")
            }
        }
    }

    /// Gets the nodes, and asks again if the node or others are missing.
    ///
    /// A node that has just started does not list the others for about a second.
    private func nodes(_ api: ServerAPI) async throws -> ClusterNodes {
        var cluster = try await api.nodes()
        for _ in 0..<3 {
            if let target = try? cluster.node(node), force || cluster.serves(without: target) { break }
            try await Task.sleep(for: .milliseconds(500))
            cluster = try await api.nodes()
        }
        return cluster
    }

    /// Asks the node to stop, until it reports that it does, and waits until it has stopped.
    ///
    /// - Parameter isAnswering: Whether the server that the command talks to is the node itself.
    private func drain(
        _ target: ClusterNodes.Node, isAnswering: Bool, _ api: ServerAPI, until end: ContinuousClock.Instant
    ) async throws {
        var progress = Progress("moving clients of \(target.name)", total: target.connections)
        var state = DrainProgress(isAnswering: isAnswering)
        while ContinuousClock.now < end {
            do {
                let cluster = try await api.nodes()
                let current = cluster.nodes.first { $0.id == target.id }
                state.listed(
                    isDraining: current?.isDraining, isAnswering: cluster.nodes.first?.id == target.id,
                    busIsConnected: cluster.busIsConnected)
                if let current {
                    progress.show(max(0, target.connections - current.connections))
                    if !current.isDraining {
                        try await api.perform("POST", "/v1/admin/nodes/\(target.id)/drain")
                        state.requested()
                    }
                }
            } catch {
                if error.code == .unreachable {
                    state.unreachable()
                } else if !error.isTemporary, error.code != .invalidParameter {
                    // The node may have stopped before it was listed as draining.
                    throw error
                }
            }
            if state.hasStopped { return progress.finish(progress.total) }
            try await Task.sleep(for: .milliseconds(500))
        }
        let reason = state.isDraining ? "" : ", and has not received the request"
        throw ChatError(
            .timeout,
            "\(target.name) has not stopped after \(Int(timeout)) seconds\(reason). Look at its log, or wait longer "
                + "with --timeout.")
    }
}
