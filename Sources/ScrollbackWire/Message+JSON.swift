package import ScrollbackModel

extension Message {
    /// Writes the message in its standard JSON form.
    package func write(to writer: inout JSONWriter) {
        writer.object { writeMembers(to: &$0) }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.field("seq", seq)
        writer.field("n", countedIndex)
        writer.field("id", id)
        writer.field("timetoken", timetoken)
        writer.field("epoch", epoch)
        writer.field("sentAt", sentAt)
        writer.field("sender", sender)
        writer.field("type", type)
        writer.field("content", content?.json)
        writer.field("rev", rev)
        attributes.writeMembers(to: &writer)
        writer.field("editedAt", editedAt)
        writer.field("thread", thread)
        if let replies {
            writer.key("replies")
            replies.write(to: &writer)
        }
        if !actions.isEmpty {
            writer.key("actions")
            actions.write(to: &writer)
        }
        if isDeleted { writer.field("deleted", true) }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var fields = MessageFields()
        try reader.object { (name, value) throws(ChatError) in try fields.read(name, &value) }
        self = try fields.message()
    }
}

/// The parsed members of a message.
package struct MessageFields {
    var conversation: ConversationID?
    var seq: Seq?
    var countedIndex: Int64?
    var id: MessageID?
    var timetoken: Timetoken?
    var epoch: Epoch?
    var sender: UserID?
    var type: MessageType?
    var content: RawJSON?
    var rev: Int64 = 0
    var attributes = MessageAttributes()
    var editedAt: String?
    var thread: MessageID?
    var replies: ReplySummary?
    var actions: [ActionSummary] = []

    package init() {}

    package mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) {
        switch name {
        case "conversation": conversation = try value.conversation()
        case "seq": seq = try value.counter()
        case "n": countedIndex = try value.counter()
        case "id": id = try value.messageID()
        case "timetoken": timetoken = try value.timetoken()
        case "epoch": epoch = try value.epoch()
        case "sender": sender = UserID(known: try value.string())
        case "type": type = MessageType(rawValue: try value.string())
        case "content": content = try value.null() ? nil : value.raw()
        case "rev": rev = try value.counter()
        case "editedAt": editedAt = try value.string()
        case "thread": thread = try value.messageID("thread")
        case "replies": replies = try ReplySummary(from: &value)
        case "actions": actions = try [ActionSummary](from: &value)
        default: if try !attributes.readMember(name, &value) { try value.skip() }
        }
    }

    /// Whether the message is stored in a log.
    package var isStored: Bool { seq != nil }

    package func message() throws(ChatError) -> Message {
        let type = try type.required("type")
        return Message(
            conversation: try conversation.required("conversation"), seq: try seq.required("seq"),
            countedIndex: try countedIndex.required("n"), id: try id.required("id"),
            timetoken: try timetoken.required("timetoken"),
            epoch: try epoch.required("epoch"), sender: try sender.required("sender"), type: type,
            content: content.map { MessageContent(known: type, json: $0) }, rev: rev, attributes: attributes,
            editedAt: try editedAt.map { (text) throws(ChatError) in try .init(iso8601: text, parameter: "editedAt") },
            thread: thread, replies: replies, actions: actions)
    }

    package func transient() throws(ChatError) -> TransientMessage {
        TransientMessage(
            conversation: try conversation.required("conversation"), id: try id.required("id"),
            timetoken: try timetoken.required("timetoken"), sender: try sender.required("sender"),
            content: MessageContent(known: try type.required("type"), json: try content.required("content")),
            attributes: attributes)
    }
}

extension TransientMessage {
    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.field("id", id)
        writer.field("timetoken", timetoken)
        writer.field("sentAt", timetoken.date)
        writer.field("sender", sender)
        writer.field("type", content.type)
        writer.field("content", content.json)
        attributes.writeMembers(to: &writer)
    }
}
