package import ScrollbackModel
package import ScrollbackWire

/// Closes all connections of a user.
package struct CloseConnections: ChatOperation {
    package static let endpoint = Endpoint(
        http: .delete("/v1/admin/connections/{user}"), scope: .admin, callers: .administrator,
        cost: .write, tag: .server,
        summary: "Close a user's connections",
        details: """
            The server closes them with code 1012, and the devices reconnect after a random delay. Deactivate or ban \
            the user to prevent that.
            """)

    /// How many connections the server closed.
    package struct Answer: OperationAnswer {
        package static let schema: JSONSchema? = .object([
            .init("closed", .integer(0...Int.max), "How many connections the server closed.")
        ])

        package var count: Int

        package func writeMembers(to writer: inout JSONWriter) {
            writer.field("closed", count)
        }
    }

    package var user: UserID

    package init(user: UserID) {
        self.user = user
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        user = try request.required("user")
    }
}

extension CloseConnections: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        Answer(count: try engine.closeConnections(of: user, device: nil, by: caller))
    }
}
