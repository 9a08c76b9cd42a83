package import ScrollbackModel

/// Lists the users whom the caller has blocked.
package struct ListBlockedUsers: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "blocks", http: .get("/v1/blocks"), scope: .read, callers: .anyUser, cost: .read,
        tag: .users,
        summary: "List the users you have blocked", details: "Ordered by user name.")

    package typealias Answer = ListPage<UserID>

    package var page: Paging

    package init(page: Paging) {
        self.page = page
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        page = try Paging(from: &request)
    }

    package func writeMembers(to writer: inout JSONWriter) {
        page.writeMembers(to: &writer)
    }
}
