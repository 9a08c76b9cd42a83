package import ScrollbackModel
package import ScrollbackWire

/// Lists the scheduled messages of a user.
package struct ListUserScheduled: ChatOperation {
    package static let endpoint = Endpoint(
        http: .get("/v1/users/{user}/scheduled"), scope: .admin, callers: .administrator,
        cost: .read, tag: .users,
        summary: "List a user's scheduled messages",
        details: """
            The messages are those of `GET /v1/scheduled`, which the user sees. Direct conversations are named from \
            the user's point of view.
            """)

    package typealias Answer = ListPage<ScheduledMessage>

    package var user: UserID
    package var page: Paging

    package init(user: UserID, page: Paging) {
        self.user = user
        self.page = page
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        user = try request.required("user")
        page = try Paging(from: &request)
    }
}

extension ListUserScheduled: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        try engine.scheduledMessages(of: user, page)
    }
}
