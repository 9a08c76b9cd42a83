package import ScrollbackModel
package import ScrollbackWire

/// Gets the progress of a background job.
package struct GetJob: ChatOperation {
    package static let endpoint = Endpoint(
        http: .get("/v1/admin/jobs/{id}"), scope: .admin, callers: .administrator, cost: .read, tag: .server,
        summary: "Get the progress of a job", errors: [404])

    package typealias Answer = ErasureRow

    package var id: Int64

    package init(id: Int64) {
        self.id = id
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        id = try request.number("id")
    }
}

extension GetJob: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> ErasureRow {
        try engine.erasure(id, by: caller)
    }
}

extension ErasureRow: OperationAnswer {
    package static let schema: JSONSchema? = .component("Job")

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("id", number)
        writer.field("kind", "erase")
        writer.field("state", hasEnded ? "done" : error == nil ? "running" : "waiting")
        writer.field("user", user)
        writer.field("messages", messages.name)
        if messages != .keep { writer.field("replacement", replacement) }
        writer.key("done")
        writer.object { writer in
            writer.field("conversations", conversationCount)
            writer.field("messages", messageCount)
            writer.field("files", fileCount)
        }
        writer.field("createdAt", createdAt)
        writer.field("endedAt", endedAt)
        writer.field("error", error)
    }
}
