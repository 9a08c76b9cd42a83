package import ScrollbackModel

extension Member: ListElement {
    package static let listName = "members"
    package static let schema = JSONSchema.component("Member")

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("user", id)
            writer.field("role", role.rawValue)
            mute?.writeMember(to: &writer)
        }
    }

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
        // A role that this version does not know counts as member.
        self.init(
            id: try user.required("user"), role: Role(rawValue: try role.required("role")) ?? .member, mute: mute)
    }
}

extension MessageReader: ListElement {
    package static let listName = "readers"
    package static let schema = JSONSchema.object([
        .init("user", .component("UserID")), .init("readSeq", .integer(1...Int.max)),
    ])

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("user", id)
            writer.field("readSeq", readSeq)
        }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var user: UserID?
        var readSeq: Seq?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "user": user = try value.user()
            case "readSeq": readSeq = try value.counter()
            default: try value.skip()
            }
        }
        self.init(id: try user.required("user"), readSeq: try readSeq.required("readSeq"))
    }
}

extension MessageRecipient: ListElement {
    package static let listName = "recipients"
    package static let schema = JSONSchema.object([
        .init("user", .component("UserID")), .init("deliveredSeq", .integer(1...Int.max)),
    ])

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("user", id)
            writer.field("deliveredSeq", deliveredSeq)
        }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var user: UserID?
        var deliveredSeq: Seq?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "user": user = try value.user()
            case "deliveredSeq": deliveredSeq = try value.counter()
            default: try value.skip()
            }
        }
        self.init(id: try user.required("user"), deliveredSeq: try deliveredSeq.required("deliveredSeq"))
    }
}

/// The list of users that the caller has blocked.
extension UserID: ListElement {
    package static let listName = "users"

    package func write(to writer: inout JSONWriter) { writer.value(text) }

    package init(from reader: inout JSONReader) throws(ChatError) { self = try reader.user() }
}
