package import ScrollbackModel

/// Lists the caller's scheduled messages.
package struct ListScheduled: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "scheduled", http: .get("/v1/scheduled"), scope: .read, callers: .anyUser, cost: .read,
        tag: .messages,
        summary: "List your scheduled messages",
        details: """
            These are the messages that were not sent yet, and those that were refused when their time came. Ordered \
            by ID. A page has at most `limit` messages and about 512 KiB.
            """)

    package typealias Answer = ListPage<ScheduledMessage>

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
