package import ScrollbackModel

/// A page of those whom somebody has blocked, by name.
package struct BlockedUsers: Sendable {
    package var users: [UserID]
    /// Where the next page begins; absent where there is none.
    package var cursor: UserID?

    package init(users: [UserID], cursor: UserID?) {
        self.users = users
        self.cursor = cursor
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.key("users")
        writer.array(users) { $0.value($1.text) }
        writer.field("cursor", cursor)
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var users: [UserID]?
        var cursor: UserID?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "users": users = try value.users()
            case "cursor": cursor = try value.null() ? nil : value.user("cursor")
            default: try value.skip()
            }
        }
        self.init(users: try users.required("users"), cursor: cursor)
    }
}
