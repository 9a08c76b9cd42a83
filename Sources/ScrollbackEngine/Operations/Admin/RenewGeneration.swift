package import ScrollbackModel
package import ScrollbackWire

/// Gives the database of several nodes a new generation, because it was put back to an earlier state.
package struct RenewGeneration: ChatOperation {
    package static let endpoint = Endpoint(
        http: .post("/v1/admin/generation"), scope: .admin, callers: .administrator, cost: .write, tag: .server,
        summary: "Make all clients synchronize again",
        details: """
            Call this after the database was restored from a backup by other means than `scrollback restore`. Call it \
            also after a failover to a standby that lacked commits, if the nodes that knew these commits were lost at \
            the same time. The nodes close all connections with code 1012. Clients then check what they have stored, \
            and send the messages again that the database lost. A server that does not share its database answers 409.
            """,
        errors: [409])

    package struct Answer: OperationAnswer {
        package static let schema: JSONSchema? = .object([
            .init("generation", .component("Epoch"), "The new generation.")
        ])

        package var generation: Epoch

        package func writeMembers(to writer: inout JSONWriter) {
            writer.field("generation", generation)
        }
    }

    package var generation: Epoch

    package init(generation: Epoch) {
        self.generation = generation
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        generation = try request.required(
            "generation",
            "The current `generation` in the list of nodes. With another one, the answer is 409, so that a repeated "
                + "request has no effect.")
    }
}

extension RenewGeneration: WriteOperation {
    package func run(_ transaction: Transaction, _ context: OperationContext) throws -> Answer {
        guard context.engine.node != nil else { throw Engine.hasNoNodes }
        let current = try transaction.store.incarnations().last?.generation ?? context.engine.store.generation
        guard generation.rawValue == current else {
            throw ChatError(
                .conflict,
                "The database has another generation, \(current), because it was renewed. If clients must synchronize "
                    + "once more, send the current one of GET /v1/admin/nodes.",
                parameter: "generation")
        }
        try transaction.audit(.renewGeneration, by: context.caller)
        return Answer(generation: Epoch(rawValue: try context.engine.renewGeneration(in: transaction)))
    }
}
