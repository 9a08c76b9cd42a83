package import ScrollbackModel

/// Changes a user's profile and settings.
package struct PutUser: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "putUser", http: .put("/v1/users/{user}"), scope: .account, callers: .selfOrAdministrator,
        cost: .write, tag: .users,
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
        change = try ProfileChange(from: &request)
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("user", user)
        change.writeMembers(to: &writer)
    }
}

/// A change of a user's profile; absent fields stay unchanged.
package struct ProfileChange: Hashable, Sendable {
    package var name: String?
    package var avatar: String?
    package var metadata: RawJSON?
    /// Whether other users may only invite the user, and not add them to conversations.
    package var isInvitationOnly: Bool?
    /// The user's push preferences, which other users can't see.
    package var push: PushPreferencesChange?

    package init(
        name: String? = nil, avatar: String? = nil, metadata: RawJSON? = nil, isInvitationOnly: Bool? = nil,
        push: PushPreferencesChange? = nil
    ) {
        self.name = name
        self.avatar = avatar
        self.metadata = metadata
        self.isInvitationOnly = isInvitationOnly
        self.push = push
    }

    /// Returns the profile after the change.
    package func applied(to profile: UserProfile) -> UserProfile {
        UserProfile(
            id: profile.id, name: profile.name.changed(to: name), avatar: profile.avatar.changed(to: avatar),
            metadata: metadata ?? profile.metadata)
    }
}

extension ProfileChange {
    /// Reads the change among the parameters of a request.
    package init(from request: inout RequestReader) throws(ChatError) {
        self.init()
        name = try request.optional(
            "name", .string(bytes: 0...128), example: #""Alice""#,
            "The display name, in UTF-8 without control characters."
        ) { (value) throws(ChatError) in try UserProfile.name(value.string()) }
        avatar = try request.optional(
            "avatar", .string(bytes: 0...2048), example: #""https://example.com/a.png""#,
            "The `http` or `https` URL of a picture."
        ) { (value) throws(ChatError) in try UserProfile.avatar(value.string()) }
        metadata = try request.optional(
            "metadata", .component("JSONObject"), example: #"{"team":4}"#
        ) { (value) throws(ChatError) in
            let json = try value.raw()
            guard json.isObject else { throw .invalidParameter("metadata", "must be a JSON object") }
            return json
        }
        isInvitationOnly = try request.optional(
            "invitationOnly", "Whether other users may only invite you, and not add you to groups and communities.")
        push = try request.omittable(
            "push", PushPreferencesChange.schema, example: PushPreferencesChange.example,
            "Members that are left out stay as they are. `null` removes a preference."
        ) { (value) throws(ChatError) in try PushPreferencesChange(from: &value) }
        try request.limits.check(attribute: metadata, "metadata")
    }

    /// Writes the change under the names that ``init(from:)`` reads.
    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("name", name)
        writer.field("avatar", avatar)
        writer.field("metadata", metadata)
        writer.field("invitationOnly", isInvitationOnly)
        guard let push else { return }
        writer.key("push")
        push.write(to: &writer)
    }
}
