package import ScrollbackModel

/// Removes a scheduled message of the caller.
package struct CancelScheduled: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "cancelScheduled", http: .delete("/v1/scheduled/{id}"), scope: .write,
        callers: .anyUser, cost: .write, tag: .messages,
        summary: "Cancel a scheduled message",
        details: """
            If the message was already sent or cancelled, the request fails with 404 `unknown-message`. A later retry \
            of the request that scheduled the message changes nothing. The server recognizes the retries of your \
            newest 100 cancelled messages.
            """,
        errors: [404])

    package typealias Answer = EmptyAnswer

    package var id: MessageID

    package init(id: MessageID) {
        self.id = id
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        id = try request.required("id")
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("id", id)
    }
}
