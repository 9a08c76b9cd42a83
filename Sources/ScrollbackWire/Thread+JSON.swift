package import ScrollbackModel

extension ThreadState {
    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("thread", thread)
        writer.field("followed", isFollowed)
        writer.field("readSeq", readSeq)
        writer.field("unread", unread)
        writer.field("mentions", mentions)
        writer.field("userRev", userRev)
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var numbers: [String: Int64] = [:]
        var thread: MessageID?
        var isFollowed: Bool?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "thread": thread = try value.messageID()
            case "followed": isFollowed = try value.bool()
            case "readSeq", "unread", "mentions", "userRev": numbers[name] = try value.counter()
            default: try value.skip()
            }
        }
        self.init(
            thread: try thread.required("thread"), isFollowed: try isFollowed.required("followed"),
            readSeq: try numbers["readSeq"].required("readSeq"), unread: try numbers["unread"].required("unread"),
            mentions: try numbers["mentions"].required("mentions"),
            userRev: try numbers["userRev"].required("userRev"))
    }
}

extension MessageThread {
    package func write(to writer: inout JSONWriter) {
        writer.object { writeMembers(to: &$0) }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.key("parent")
        parent.write(to: &writer)
        if let lastReply {
            writer.key("lastReply")
            lastReply.write(to: &writer)
        }
        writer.key("state")
        writer.object { state.writeMembers(to: &$0) }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var parent: Message?
        var lastReply: Message?
        var state: ThreadState?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "parent": parent = try Message(from: &value)
            case "lastReply": lastReply = try Message(from: &value)
            case "state": state = try ThreadState(from: &value)
            default: try value.skip()
            }
        }
        self.init(parent: try parent.required("parent"), lastReply: lastReply, state: try state.required("state"))
    }
}

extension ThreadChange {
    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("followed", isFollowed)
        writer.field("seq", read?.seq)
        writer.field("epoch", read?.epoch)
    }
}
