package import ScrollbackModel
package import ScrollbackWire

/// A user's profile.
package struct ProfileAnswer: OperationAnswer {
    package static let schema: JSONSchema? = .component("Profile")

    package var profile: UserProfile
    /// What only the user and administrators see, or `nil` for other callers.
    package var own: Own?

    /// The settings of the user.
    package struct Own: Sendable {
        var isInvitationOnly: Bool
        var push: PushPreferences
    }

    package func writeMembers(to writer: inout JSONWriter) {
        profile.writeMembers(to: &writer)
        guard let own else { return }
        writer.field("invitationOnly", own.isInvitationOnly)
        writer.key("push")
        own.push.write(to: &writer)
    }
}

extension Engine {
    /// Returns the part of a user's profile that only they and administrators see.
    func ownSettings(of user: UserID, by caller: Caller) throws -> ProfileAnswer.Own {
        ProfileAnswer.Own(
            isInvitationOnly: try isInvitationOnly(user), push: try pushPreferences(of: user, by: caller))
    }
}
