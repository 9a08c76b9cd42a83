package import ScrollbackModel

/// Changes the caller's push preferences.
package struct SetPushPreferences: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "setPushPreferences", scope: .account, callers: .anyUser, cost: .write, tag: .users,
        summary: "Change your push preferences",
        details: "The answer has all preferences. Over HTTP they are part of your profile.")

    package typealias Answer = GetPushPreferences.Answer

    package var change: PushPreferencesChange
    package var tokens: Int { PushPreferencesChange.tokens }

    package init(_ change: PushPreferencesChange) {
        self.change = change
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        change = try request.required(
            "push", PushPreferencesChange.schema, example: PushPreferencesChange.example,
            "Members that are left out stay as they are. `null` removes a preference."
        ) { (value) throws(ChatError) in try PushPreferencesChange(from: &value) }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.key("push")
        change.write(to: &writer)
    }
}

extension PushPreferencesChange {
    /// What a change of the preferences or of a device takes, because it can visit all conversations of the user.
    package static let tokens = 20

    package static let schema = JSONSchema.component("PushPreferencesChange")
    package static let example = #"{"language":"de","level":"mentions"}"#
}
