package import ScrollbackModel

/// Gets the caller's push preferences.
package struct GetPushPreferences: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "pushPreferences", scope: .read, callers: .anyUser, cost: .read, tag: .users,
        summary: "Get your push preferences", details: "Over HTTP they are part of your profile.")

    package struct Answer: DecodableAnswer {
        package static let schema: JSONSchema? = .object([.init("push", .component("PushPreferences"))])

        package var preferences: PushPreferences

        package init(preferences: PushPreferences) {
            self.preferences = preferences
        }

        package init(from reader: inout JSONReader) throws(ChatError) {
            var preferences = PushPreferences()
            try reader.object { (name, value) throws(ChatError) in
                guard name == "push" else { return try value.skip() }
                preferences = try PushPreferences(from: &value)
            }
            self.preferences = preferences
        }

        package func writeMembers(to writer: inout JSONWriter) {
            writer.key("push")
            preferences.write(to: &writer)
        }
    }

    package init() {}

    package init(from request: inout RequestReader) throws(ChatError) {}

    package func writeMembers(to writer: inout JSONWriter) {}
}
