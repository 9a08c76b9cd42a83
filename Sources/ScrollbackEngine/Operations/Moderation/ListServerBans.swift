package import ScrollbackModel
package import ScrollbackWire

/// Lists the users who are banned from the server.
package struct ListServerBans: ChatOperation {
    package static let endpoint = Endpoint(
        http: .get("/v1/bans"), scope: .admin, callers: .administrator, cost: .read, tag: .users,
        summary: "List the users who are banned from the server",
        details: "Ordered by user name. Bans that have ended are left out.")

    package typealias Answer = ListPage<Ban>

    package var page: Paging

    package init(page: Paging) {
        self.page = page
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        page = try Paging(from: &request)
    }
}

extension ListServerBans: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> ListPage<Ban> {
        try engine.bans(page) { _ in BanRow.server }
    }
}
