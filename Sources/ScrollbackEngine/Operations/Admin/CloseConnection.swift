package import ScrollbackModel
package import ScrollbackWire

/// Closes the connection of one device.
package struct CloseConnection: ChatOperation {
    package static let endpoint = Endpoint(
        http: .delete("/v1/admin/connections/{user}/{device}"), scope: .admin,
        callers: .administrator, cost: .write, tag: .server,
        summary: "Close the connection of a user's device",
        details: "The server closes it with code 1012, and the device reconnects after a random delay.")

    package typealias Answer = CloseConnections.Answer

    package var user: UserID
    package var device: String

    package init(user: UserID, device: String) {
        self.user = user
        self.device = device
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        user = try request.required("user")
        device = try request.required("device")
    }
}

extension CloseConnection: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> CloseConnections.Answer {
        Answer(count: try engine.closeConnections(of: user, device: device, by: caller))
    }
}
