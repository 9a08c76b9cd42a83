package import ScrollbackModel

/// A page of a conversation's members, by name.
package struct MemberList: Sendable {
    package var members: [Member]
    /// Where the next page begins; absent where there is none.
    package var cursor: UserID?

    package init(members: [Member], cursor: UserID?) {
        self.members = members
        self.cursor = cursor
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.key("members")
        writer.array(members) { $1.write(to: &$0) }
        writer.field("cursor", cursor)
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var members: [Member]?
        var cursor: UserID?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "members":
                members = try value.list("members", limit: 1000) { (member) throws(ChatError) in
                    try Member(from: &member)
                }
            case "cursor": cursor = try value.null() ? nil : value.user("cursor")
            default: try value.skip()
            }
        }
        self.init(members: try members.required("members"), cursor: cursor)
    }
}

/// A page of those who have read a message, by name.
package struct ReaderList: Sendable {
    package var readers: [MessageReader]
    /// Where the next page begins; absent where there is none.
    package var cursor: UserID?

    package init(readers: [MessageReader], cursor: UserID?) {
        self.readers = readers
        self.cursor = cursor
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.key("readers")
        writer.array(readers) { writer, reader in
            writer.object { writer in
                writer.field("user", reader.id)
                writer.field("readSeq", reader.readSeq)
            }
        }
        writer.field("cursor", cursor)
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var readers: [MessageReader]?
        var cursor: UserID?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "readers":
                readers = try value.list("readers", limit: 1000) { (value) throws(ChatError) in
                    var user: UserID?
                    var readSeq: Seq?
                    try value.object { (name, value) throws(ChatError) in
                        switch name {
                        case "user": user = try value.user()
                        case "readSeq": readSeq = try value.integer()
                        default: try value.skip()
                        }
                    }
                    return MessageReader(id: try user.required("user"), readSeq: try readSeq.required("readSeq"))
                }
            case "cursor": cursor = try value.null() ? nil : value.user("cursor")
            default: try value.skip()
            }
        }
        self.init(readers: try readers.required("readers"), cursor: cursor)
    }
}

extension Member {
    package init(from reader: inout JSONReader) throws(ChatError) {
        var user: UserID?
        var role: String?
        var mute: Mute?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "user": user = try value.user()
            case "role": role = try value.string()
            case "mutedUntil": mute = try value.null() ? nil : Mute(from: &value)
            default: try value.skip()
            }
        }
        // A role this version does not know is a member's all the same.
        self.init(
            id: try user.required("user"), role: Role(rawValue: try role.required("role")) ?? .member, mute: mute)
    }
}
