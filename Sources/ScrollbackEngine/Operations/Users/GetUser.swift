package import ScrollbackModel
package import ScrollbackWire

/// Gets a user's profile.
package struct GetUser: ChatOperation {
    package static let endpoint = Endpoint(
        http: .get("/v1/users/{user}"), scope: .read, callers: .anyUser, cost: .lookup, tag: .users,
        summary: "Get a user's profile", details: "Only the user and administrators see `invitationOnly` and `push`.",
        errors: [404])

    package typealias Answer = ProfileAnswer

    package var user: UserID

    package init(user: UserID) {
        self.user = user
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        user = try request.required("user")
    }
}

extension GetUser: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> ProfileAnswer {
        let seesOwn = caller.user == user || caller.isAdmin
        return ProfileAnswer(
            profile: try engine.user(user), own: seesOwn ? try engine.ownSettings(of: user, by: caller) : nil)
    }
}
