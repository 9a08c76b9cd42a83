import ArgumentParser
import Foundation
import ScrollbackModel

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

    @Option(help: "How long to wait, in seconds, at least 1.")
    var timeout = 120.0

    @Flag(help: "Stop the node even if no other node serves clients.")
    var force = false

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard timeout >= 1 else { throw ValidationError("--timeout must be at least 1.") }
    }

    func run() async throws {
        try await reporting {
            let api = try connection.adminAPI()
            let start = ContinuousClock.now
            let cluster = try await api.nodes()
            let target = try cluster.node(node)
            guard force || cluster.nodes.contains(where: { $0.id != target.id && !$0.isDraining }) else {
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

    /// Asks the node to stop, until it reports that it does, and waits until it has stopped.
    ///
    /// - Parameter isAnswering: Whether the server that the command talks to is the node itself.
    private func drain(
        _ target: ClusterNodes.Node, isAnswering: Bool, _ api: ServerAPI, until end: ContinuousClock.Instant
    ) async throws {
        var progress = Progress("moving clients of \(target.name)", total: target.connections)
        var (isDraining, isAnswering) = (false, isAnswering)
        while ContinuousClock.now < end {
            do {
                let cluster = try await api.nodes()
                if let current = cluster.nodes.first(where: { $0.id == target.id }) {
                    isDraining = current.isDraining
                    isAnswering = cluster.nodes.first?.id == target.id
                    progress.show(max(0, target.connections - current.connections))
                    if !isDraining {
                        try await api.perform("POST", "/v1/admin/nodes/\(target.id)/drain")
                        // A request to another node can be lost.
                        isDraining = isAnswering
                    }
                } else if cluster.busIsConnected {
                    // A node without NATS lists no other nodes.
                    return progress.finish(progress.total)
                }
            } catch {
                // The server that the command talks to is the node, and has stopped.
                if error.code == .unreachable, isDraining, isAnswering { return progress.finish(progress.total) }
                // The node may have stopped before it was listed as draining.
                guard error.isTemporary || error.code == .invalidParameter else { throw error }
            }
            try await Task.sleep(for: .milliseconds(500))
        }
        let reason = isDraining ? "" : ", and has not received the request"
        throw ChatError(.timeout, "\(target.name) has not stopped after \(Int(timeout)) seconds\(reason).")
    }
}
