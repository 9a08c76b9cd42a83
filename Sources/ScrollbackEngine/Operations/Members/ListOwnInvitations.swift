package import ScrollbackModel
package import ScrollbackWire

/// Lists the caller's invitations over HTTP.
///
/// The WebSocket has ``ListInvitations`` without a conversation.
package struct ListOwnInvitations: ChatOperation {
    package static let endpoint = Endpoint(
        http: .get("/v1/invitations"), scope: .read, callers: .anyUser, cost: .read, tag: .members,
        summary: "List your open invitations")

    package typealias Answer = ListPage<Invitation>

    package var page: Paging

    package init(page: Paging) {
        self.page = page
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        page = try Paging(from: &request)
    }
}

extension ListOwnInvitations: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> ListPage<Invitation> {
        try engine.invitations(to: nil, cursor: page.cursor, limit: page.limit, by: caller)
    }
}
