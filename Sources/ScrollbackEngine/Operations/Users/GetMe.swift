package import ScrollbackModel
package import ScrollbackWire

/// Gets the caller's profile.
package struct GetMe: ChatOperation {
    package static let endpoint = Endpoint(
        http: .get("/v1/me"), scope: .read, callers: .anyUser, cost: .read, tag: .users,
        summary: "Get your profile")

    package typealias Answer = ProfileAnswer

    package init() {}

    package init(from request: inout RequestReader) throws(ChatError) {}
}

extension GetMe: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> ProfileAnswer {
        ProfileAnswer(
            profile: try engine.users([caller.user]).first ?? UserProfile(id: caller.user),
            own: try engine.ownSettings(of: caller.user, by: caller))
    }
}
