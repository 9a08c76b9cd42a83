package import ScrollbackModel

/// The presence of the requested users.
package struct PresenceList: Sendable {
    package var entries: [(user: UserID, presence: Presence)]

    package init(_ entries: [(user: UserID, presence: Presence)]) {
        self.entries = entries
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.key("presence")
        writer.array(entries) { writer, entry in
            writer.object { entry.presence.writeMembers(of: entry.user, to: &$0) }
        }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var entries: [(user: UserID, presence: Presence)]?
        try reader.object { (name, value) throws(ChatError) in
            guard name == "presence" else { return try value.skip() }
            entries = try value.list("presence", limit: FetchUsers.maximum) { (entry) throws(ChatError) in
                var fields = PresenceFields()
                try entry.object { (name, value) throws(ChatError) in
                    if try !fields.read(name, &value) { try value.skip() }
                }
                return try fields.entry()
            }
        }
        self.init(try entries.required("presence"))
    }
}

extension Presence {
    package func writeMembers(of user: UserID, to writer: inout JSONWriter) {
        writer.field("user", user)
        writer.field("online", isOnline)
        writer.field("lastSeen", lastSeen)
    }
}

/// The parsed members of a user's presence.
struct PresenceFields {
    var user: UserID?
    var isOnline: Bool?
    var lastSeen: String?

    mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) -> Bool {
        switch name {
        case "user": user = try value.user()
        case "online": isOnline = try value.bool()
        case "lastSeen": lastSeen = try value.null() ? nil : value.string()
        default: return false
        }
        return true
    }

    func entry() throws(ChatError) -> (user: UserID, presence: Presence) {
        (
            try user.required("user"),
            Presence(
                isOnline: try isOnline.required("online"),
                lastSeen: try lastSeen.map { (text) throws(ChatError) in
                    try .init(iso8601: text, parameter: "lastSeen")
                })
        )
    }
}
