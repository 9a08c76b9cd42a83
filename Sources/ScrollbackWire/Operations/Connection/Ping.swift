package import ScrollbackModel

/// Keeps the connection open and shows the client that the server still answers.
package struct Ping: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "ping", scope: .read, callers: .anyUser, cost: .free, tag: .server,
        summary: "Keep the connection open")

    package init() {}

    package init(from request: inout RequestReader) throws(ChatError) {}

    package func writeMembers(to writer: inout JSONWriter) {}
}
