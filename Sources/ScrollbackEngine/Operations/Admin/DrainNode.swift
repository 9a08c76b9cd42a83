package import ScrollbackModel
package import ScrollbackWire

/// Asks a node to stop after its clients have moved to other nodes.
package struct DrainNode: ChatOperation {
    package static let endpoint = Endpoint(
        http: .post("/v1/admin/nodes/{node}/drain"), scope: .admin, callers: .administrator, cost: .write, tag: .server,
        summary: "Stop a node after its clients have moved to other nodes",
        details: """
            The node does the same as after the signal SIGTERM: it is not ready any more, asks its clients to connect \
            again, and ends. The request to another node can be lost. Repeat it until the list of nodes shows \
            `isDraining`.
            """,
        errors: [409])

    package var node: Epoch

    package init(node: Epoch) {
        self.node = node
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        node = try request.required("node", "The `id` of the node in the list of nodes.")
    }
}

extension DrainNode: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> EmptyAnswer {
        try engine.drain(NodeID(bits: node.rawValue), by: caller)
        return EmptyAnswer()
    }
}
