import Foundation
package import ScrollbackModel
package import ScrollbackWire

/// Lists the open connections of the server.
package struct ListConnections: ChatOperation {
    package static let endpoint = Endpoint(
        http: .get("/v1/admin/connections"), scope: .admin, callers: .administrator, cost: .read,
        tag: .server,
        summary: "List open connections", details: "Ordered by user and device.")

    package struct Answer: OperationAnswer {
        package static let schema: JSONSchema? = .object([
            .init("connections", .array(.component("ConnectionEntry"))),
            .init("cursor", .string(), isRequired: false, "Pass it to get the next page. Absent on the last page."),
        ])

        package var connections: [ConnectionEntry]
        package var cursor: String?

        package func writeMembers(to writer: inout JSONWriter) {
            writer.key("connections")
            writer.array(connections) { $1.write(to: &$0) }
            writer.field("cursor", cursor)
        }
    }

    /// Only the connections of this user.
    package var user: UserID?
    package var page: Paging

    package init(user: UserID? = nil, page: Paging) {
        self.user = user
        self.page = page
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        page = try Paging(from: &request)
        user = try request.optional("user", "Lists only this user's connections.")
    }
}

extension ListConnections: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        let after = try page.cursor.map { (text) throws(ChatError) in try ConnectionCursor(text) }
        let (connections, next) = try engine.connections(
            of: user, after: after.map { ($0.user, $0.device) }, limit: page.limit, by: caller)
        return Answer(
            connections: connections, cursor: next.map { ConnectionCursor(user: $0.user, device: $0.device).text })
    }
}

/// The last connection of a page: user and device, percent-encoded and separated by a slash.
private struct ConnectionCursor {
    var user: UserID
    var device: String

    init(user: UserID, device: String) {
        self.user = user
        self.device = device
    }

    init(_ text: String) throws(ChatError) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { $0.removingPercentEncoding }
        guard parts.count == 2, let name = parts[0], let device = parts[1], let user = try? UserID(name) else {
            throw .unknownCursor
        }
        self.init(user: user, device: device)
    }

    var text: String {
        [user.text, device].map { $0.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "" }
            .joined(separator: "/")
    }
}
