import ScrollbackModel

/// Lists and stops nodes.
extension Engine {
    /// What this node reports about itself; `nil` if this server does not share its store.
    var nodeInfo: NodeInfo? {
        guard var info = node?.info else { return nil }
        info.connections = hub.openConnectionCount
        return info
    }

    /// Reports to the other nodes that this one stops, and that its clients move to them.
    package func beginDraining() {
        node?.setDraining()
        announceNode()
    }

    /// Returns this node and the others.
    ///
    /// - Throws: `conflict` if this server does not share its store.
    func nodes() throws(ChatError) -> (own: NodeInfo, others: [NodeInfo]) {
        guard let node, let own = nodeInfo else { throw Self.hasNoNodes }
        return (own, node.withDirectory { directory, _ in directory.infos })
    }

    /// Asks a node to stop after its clients have moved to other nodes.
    ///
    /// A request to another node can be lost. The node's ``NodeInfo/isDraining`` shows that it has arrived.
    ///
    /// - Throws: `invalid-parameter` if there is no such node, `conflict` if this server does not share its store.
    func drain(_ id: NodeID, by caller: Caller) throws(ChatError) {
        let (own, others) = try nodes()
        guard let target = ([own] + others).first(where: { $0.id == id }) else {
            throw .invalidParameter("node", "must be the ID of a node that runs. GET /v1/admin/nodes lists them")
        }
        guard !target.isDraining else { return }
        auditInBackground(.drainNode, by: caller, detail: target.name)
        if id == own.id { node?.beginDrain() } else { node?.send(.drain(id)) }
    }

    static let hasNoNodes = ChatError(
        .conflict, "This server does not share its store. Start it with --store and --bus to use several nodes.")
}
