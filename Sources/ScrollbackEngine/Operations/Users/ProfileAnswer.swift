package import ScrollbackModel
package import ScrollbackWire

/// A user's profile.
package struct ProfileAnswer: OperationAnswer {
    package static let schema: JSONSchema? = .component("Profile")

    package var profile: UserProfile
    /// The user's push preferences, or `nil` where the caller may not see them.
    package var push: PushPreferences?

    package func writeMembers(to writer: inout JSONWriter) {
        profile.writeMembers(to: &writer)
        guard let push else { return }
        writer.key("push")
        push.write(to: &writer)
    }
}
