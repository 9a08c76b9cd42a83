import Foundation
import ScrollbackModel

/// The list of nodes that one node returns.
struct ClusterNodes {
    struct Node {
        var json: RawJSON
        var fields: JSONFields
        var id: String { fields["id"] }
        var name: String { fields["name"] }
        var address: String { fields["address"] }
        var connections: Int { Int(fields["connections"]) ?? 0 }
        var lag: Double { Double(fields["lagSeconds"]) ?? 0 }
        var isLeader: Bool { fields["isLeader"] == "true" }
        var isDraining: Bool { fields["isDraining"] == "true" }
    }

    /// The nodes; the first one returned the list.
    var nodes: [Node]
    var generation: String
    var busIsConnected: Bool

    /// How many seconds may pass until a node has the commits of the others.
    static let maximumLag = 10.0

    /// Returns the problems of the nodes, as sentences.
    ///
    /// - Parameter expected: The least number of nodes that serve clients, if it is known.
    func problems(expected: Int?) -> [String] {
        var problems: [String] = []
        if !busIsConnected {
            problems.append("\(nodes.first?.name ?? "The node") is not connected to NATS, and lists no other nodes.")
        }
        let serving = nodes.count { !$0.isDraining }
        if let expected, serving < expected {
            problems.append("\(serving) of \(expected) nodes serve clients.")
        }
        let leaders = nodes.count(where: \.isLeader)
        if leaders == 0, busIsConnected {
            problems.append("No node sends pushes, webhooks and scheduled messages.")
        } else if leaders > 1 {
            problems.append("\(leaders) nodes send pushes, webhooks and scheduled messages.")
        }
        for node in nodes where node.lag > Self.maximumLag {
            problems.append("\(node.name) has not read from the database for \(Int(node.lag)) seconds.")
        }
        for (name, nodes) in Dictionary(grouping: nodes, by: \.name) where nodes.count > 1 {
            problems.append("\(nodes.count) nodes have the name \(name). Start them with different --node-name.")
        }
        return problems
    }

    /// Whether another node than this one serves clients.
    func serves(without node: Node) -> Bool { nodes.contains { $0.id != node.id && !$0.isDraining } }

    /// Finds a node by its name or ID.
    ///
    /// - Throws: `invalid-parameter` if there is no such node, or several have the name.
    func node(_ text: String) throws(ChatError) -> Node {
        let found = nodes.filter { $0.name == text || $0.id == text }
        guard let node = found.first else {
            let names = nodes.map(\.name).joined(separator: ", ")
            throw .invalidParameter("node", "must be the name or the ID of a node that runs (\(names))")
        }
        guard found.count == 1 else {
            let ids = found.map { "\($0.id) at \($0.address)" }.joined(separator: ", ")
            throw .invalidParameter("node", "must be an ID, because several nodes have this name (\(ids))")
        }
        return node
    }
}

extension ServerAPI {
    func nodes() async throws(ChatError) -> ClusterNodes {
        try await object("GET", "/v1/admin/nodes") { (reader) throws(ChatError) in
            var nodes: [ClusterNodes.Node] = []
            var (generation, busIsConnected) = ("", false)
            try reader.object { (name, value) throws(ChatError) in
                switch name {
                case "nodes":
                    try value.array { (value) throws(ChatError) in
                        let json = try value.raw()
                        nodes.append(ClusterNodes.Node(json: json, fields: try JSONFields(json)))
                    }
                case "generation": generation = try value.string()
                case "busIsConnected": busIsConnected = try value.bool()
                default: try value.skip()
                }
            }
            return ClusterNodes(nodes: nodes, generation: generation, busIsConnected: busIsConnected)
        }
    }
}
