package import ScrollbackModel

/// Gets the presence of users and, over the WebSocket, starts or stops watching them.
package struct FetchPresence: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "presence", http: .post("/v1/presence/fetch"), scope: .read, callers: .anyUser,
        cost: .lookup, tag: .users,
        summary: "Get the presence of users",
        details: """
            The answer has each user once, in the order of the request. Users are shown as offline if they don't share \
            their presence, if they blocked you, or if you blocked them. Without the setting `presence`, which is off \
            by default, the request fails with 403 `feature-off`.
            """)

    package struct Answer: DecodableAnswer {
        package static let schema: JSONSchema? = .component("PresenceList")

        /// `nil` after a request to stop watching.
        package var list: PresenceList?

        package init(list: PresenceList?) {
            self.list = list
        }

        package init(from reader: inout JSONReader) throws(ChatError) {
            var whole = reader
            var hasList = false
            try reader.object { (name, value) throws(ChatError) in
                if name == "presence" { hasList = true }
                try value.skip()
            }
            list = hasList ? try PresenceList(from: &whole) : nil
        }

        package func writeMembers(to writer: inout JSONWriter) {
            list?.writeMembers(to: &writer)
        }
    }

    package var users: [UserID]
    /// Whether the connection starts (`true`) or stops (`false`) watching the users.
    ///
    /// `nil` changes nothing.
    package var isOn: Bool?

    package init(users: [UserID], isOn: Bool? = nil) {
        self.users = users
        self.isOn = isOn
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        users = try request.users()
        isOn = try request.optional(
            "on", on: .webSocket,
            "`true` sends this connection `presence` events of the users, `false` ends them. The answer is empty then.")
    }

    package var tokens: Int { isOn == false ? 1 : max(1, users.count) }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.key("users")
        writer.array(users) { $0.value($1.text) }
        writer.field("on", isOn)
    }
}
