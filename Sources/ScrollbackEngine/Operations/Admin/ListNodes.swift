import Foundation
package import ScrollbackModel
package import ScrollbackWire

/// Lists the nodes that share the database.
package struct ListNodes: ChatOperation {
    package static let endpoint = Endpoint(
        http: .get("/v1/admin/nodes"), scope: .admin, callers: .administrator, cost: .read, tag: .server,
        summary: "List the nodes",
        details: """
            A server that does not share its database answers 409. The answer is from the memory of the node that \
            answers: each node reports itself to the others every second, and a node that reports nothing for 10 \
            seconds is not listed.
            """,
        errors: [409])

    package struct Answer: OperationAnswer {
        package static let schema: JSONSchema? = .object([
            .init("nodes", .array(.component("NodeEntry")), "Sorted by name. The first one is the node that answers."),
            .init("generation", .component("Epoch"), "The generation of the database, for `renewGeneration`."),
            .init("busIsConnected", .boolean, "Whether the node that answers receives what other nodes report."),
        ])

        package var own: NodeInfo
        package var others: [NodeInfo]
        package var generation: UInt64
        package var busIsConnected: Bool

        package func writeMembers(to writer: inout JSONWriter) {
            writer.key("nodes")
            writer.array([own] + others) { writer, info in
                writer.object { writer in
                    writer.field("id", Epoch(rawValue: info.id.bits))
                    info.writeMembers(to: &writer)
                    writer.field("startedAt", Date(timeIntervalSince1970: TimeInterval(info.startedAt)))
                    writer.field("lagSeconds", Double(info.lag) / 1000)
                }
            }
            writer.field("generation", Epoch(rawValue: generation))
            writer.field("busIsConnected", busIsConnected)
        }
    }

    package init() {}

    package init(from request: inout RequestReader) throws(ChatError) {}
}

extension ListNodes: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        let (own, others) = try engine.nodes()
        return Answer(
            own: own, others: others, generation: engine.store.generation,
            busIsConnected: engine.node?.busIsConnected == true)
    }
}
