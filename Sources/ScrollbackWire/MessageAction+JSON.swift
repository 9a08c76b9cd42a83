package import ScrollbackModel

extension [ActionSummary] {
    package func write(to writer: inout JSONWriter) {
        writer.array(self) { writer, summary in
            writer.object { writer in
                writer.field("type", summary.type)
                writer.field("value", summary.value)
                writer.field("count", summary.count)
                writer.key("senders")
                writer.array(summary.senders) { $0.value($1.text) }
            }
        }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        self = try reader.list("actions", limit: 1_000) { (summary) throws(ChatError) in
            var read = ActionSummary(type: "", value: "", count: 0, senders: [])
            try summary.object { (name, value) throws(ChatError) in
                switch name {
                case "type": read.type = try value.string()
                case "value": read.value = try value.string()
                case "count": read.count = try value.integer()
                case "senders":
                    try value.array { (user) throws(ChatError) in read.senders.append(UserID(known: try user.string())) }
                default: try value.skip()
                }
            }
            return read
        }
    }
}

extension ReplySummary {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("count", count)
            writer.field("lastReplyAt", lastReplyAt)
        }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        self.init(count: 0, lastReplyAt: Timetoken(rawValue: 0))
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "count": count = try value.integer()
            case "lastReplyAt": lastReplyAt = try value.timetoken()
            default: try value.skip()
            }
        }
    }
}

extension MessageAction {
    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("message", message)
        writer.field("timetoken", timetoken)
        writer.field("sentAt", timetoken.date)
        writer.field("sender", sender)
        writer.field("type", type)
        writer.field("value", value)
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var message: MessageID?
        var timetoken: Timetoken?
        var sender: UserID?
        var type = ""
        var text = ""
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "message": message = try value.messageID("message")
            case "timetoken": timetoken = try value.timetoken()
            case "sender": sender = UserID(known: try value.string())
            case "type": type = try value.string()
            case "value": text = try value.string()
            default: try value.skip()
            }
        }
        self.init(
            message: try message.required("message"), timetoken: try timetoken.required("timetoken"),
            sender: try sender.required("sender"), type: type, value: text)
    }
}

extension [MessageAction] {
    /// A list, and where it goes on.
    package static func write(_ actions: [MessageAction], next: Timetoken?, to writer: inout JSONWriter) {
        writer.key("actions")
        writer.array(actions) { writer, action in writer.object { action.writeMembers(to: &$0) } }
        writer.field("cursor", next)
    }
}
