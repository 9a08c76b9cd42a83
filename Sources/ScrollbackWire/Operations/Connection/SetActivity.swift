package import ScrollbackModel

/// Sets whether the app of this connection is in the foreground.
package struct SetActivity: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "activity", scope: .read, callers: .anyUser, cost: .read, tag: .server,
        summary: "Set whether the app is in the foreground",
        details: """
            Users with an app in the foreground are online. The server pushes messages to users without one.
            """)

    package var isActive: Bool

    package init(isActive: Bool) {
        self.isActive = isActive
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        isActive = try request.required("active")
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("active", isActive)
    }
}
