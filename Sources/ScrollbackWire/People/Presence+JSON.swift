package import ScrollbackModel

/// The presence of the requested users.
package struct PresenceList: Sendable {
    package var people: [(user: UserID, presence: Presence)]

    package init(_ people: [(user: UserID, presence: Presence)]) {
        self.people = people
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.key("presence")
        writer.array(people) { writer, person in
            writer.object { person.presence.writeMembers(of: person.user, to: &$0) }
        }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var people: [(user: UserID, presence: Presence)]?
        try reader.object { (name, value) throws(ChatError) in
            guard name == "presence" else { return try value.skip() }
            people = try value.list("presence", limit: FetchUsers.maximum) { (person) throws(ChatError) in
                var fields = PresenceFields()
                try person.object { (name, value) throws(ChatError) in
                    if try !fields.read(name, &value) { try value.skip() }
                }
                return try fields.person()
            }
        }
        self.init(try people.required("presence"))
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

    func person() throws(ChatError) -> (user: UserID, presence: Presence) {
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
