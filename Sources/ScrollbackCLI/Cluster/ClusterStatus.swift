import ArgumentParser
import ScrollbackModel

struct ClusterStatus: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "List the nodes and their problems.",
        discussion: """
            Prints for each node its name, address, version, start, number of WebSockets, and how long ago it last had \
            all commits of the database. The exit code is 1 if something is wrong: the node that answers has no \
            connection to NATS, none or several nodes lead, a node has not read from the database for 10 seconds, \
            nodes have the same name, or fewer nodes than --nodes serve clients.

            Only the nodes that are connected to NATS are listed.
            """)

    @Option(help: "The least number of nodes that should serve clients, at least 1.")
    var nodes: Int?

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        if let nodes, nodes < 1 { throw ValidationError("--nodes must be at least 1.") }
    }

    func run() async throws {
        try await reporting {
            let cluster = try await connection.adminAPI().nodes()
            let problems = cluster.problems(expected: nodes)
            for node in cluster.nodes {
                if connection.json { Output.json(node.json) } else { Output.line(Self.text(node)) }
            }
            if connection.json {
                Output.json { writer in
                    writer.field("ok", problems.isEmpty)
                    writer.field("generation", cluster.generation)
                    writer.key("problems")
                    writer.array(problems) { $0.value($1) }
                }
            } else {
                for problem in problems { Output.error("warning: \(problem)".printable) }
            }
            if !problems.isEmpty { throw Exit.failed }
        }
    }

    private static func text(_ node: ClusterNodes.Node) -> String {
        joined(
            node.name, node.address, node.fields["version"], "since \(node.fields["startedAt"])",
            "\(node.connections) connections", "lag \(node.fields["lagSeconds"]) s", node.isLeader ? "leads" : "",
            node.isDraining ? "draining" : "")
    }
}
