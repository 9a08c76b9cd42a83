package import ScrollbackModel

/// A user's profile.
package struct ProfileAnswer: DecodableAnswer {
    package static let schema: JSONSchema? = .component("Profile")

    package var profile: UserProfile
    /// What only the user and administrators see, or `nil` for other callers and in an answer that a client received.
    package var own: Own?

    /// The settings of the user.
    package struct Own: Sendable {
        var isInvitationOnly: Bool
        var push: PushPreferences

        package init(isInvitationOnly: Bool, push: PushPreferences) {
            self.isInvitationOnly = isInvitationOnly
            self.push = push
        }
    }

    package init(profile: UserProfile, own: Own? = nil) {
        self.profile = profile
        self.own = own
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        self.init(profile: try UserProfile(from: &reader))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        profile.writeMembers(to: &writer)
        guard let own else { return }
        writer.field("invitationOnly", own.isInvitationOnly)
        writer.key("push")
        own.push.write(to: &writer)
    }
}
