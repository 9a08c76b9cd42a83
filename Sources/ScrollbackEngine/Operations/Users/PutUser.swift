package import ScrollbackModel
package import ScrollbackWire

/// Changes a user's profile and settings.
package struct PutUser: ChatOperation {
    package static let endpoint = Endpoint(
        "putUser", http: .put("/v1/users/{user}"), scope: .account, caller: .selfOrAdministrator, cost: .write,
        tag: .users,
        summary: "Change a user's profile",
        details: "Members that are left out or `null` stay as they are, except for those inside `push`.",
        errors: [409])

    package typealias Answer = ProfileAnswer

    package var user: UserID
    package var change: ProfileChange

    package init(user: UserID, _ change: ProfileChange) {
        self.user = user
        self.change = change
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        user = try request.required("user")
        change = ProfileChange()
        change.name = try request.optional(
            "name", .string(bytes: 0...128), example: #""Alice""#,
            "The display name, in UTF-8 without control characters."
        ) { (value) throws(ChatError) in try UserProfile.name(value.string()) }
        change.avatar = try request.optional(
            "avatar", .string(bytes: 0...2048), example: #""https://example.com/a.png""#,
            "The `http` or `https` URL of a picture."
        ) { (value) throws(ChatError) in try UserProfile.avatar(value.string()) }
        change.metadata = try request.optional(
            "metadata", .component("JSONObject"), example: #"{"team":4}"#
        ) { (value) throws(ChatError) in
            let json = try value.raw()
            guard json.isObject else { throw .invalidParameter("metadata", "must be a JSON object") }
            return json
        }
        change.isInvitationOnly = try request.optional(
            "invitationOnly", "Whether other users may only invite you, and not add you to groups and communities.")
        change.push = try request.omittable(
            "push", PushPreferencesChange.schema, example: PushPreferencesChange.example,
            "Members that are left out stay as they are. `null` removes a preference."
        ) { (value) throws(ChatError) in try PushPreferencesChange(from: &value) }
        try request.limits.check(attribute: change.metadata, "metadata")
    }
}

extension PutUser: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<ProfileAnswer>) {
        let (engine, caller) = (context.engine, context.caller)
        engine.putUser(user, change, by: caller, since: context.erasureCount) { result in
            switch result {
            case .success(let profile):
                context.offload {
                    completion(
                        Result {
                            ProfileAnswer(profile: profile, own: try engine.ownSettings(of: user, by: caller))
                        }.mapError(ChatError.init(wrapping:)))
                }
            case .failure(let error): completion(.failure(error))
            }
        }
    }
}
