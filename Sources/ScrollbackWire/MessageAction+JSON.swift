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
            var type: String?
            var text: String?
            var count: Int64?
            var senders: [UserID]?
            try summary.object { (name, value) throws(ChatError) in
                switch name {
                case "type": type = try value.string()
                case "value": text = try value.string()
                case "count": count = try value.counter()
                case "senders":
                    senders = try value.list("senders", limit: 1_000) { (user) throws(ChatError) in
                        UserID(known: try user.string())
                    }
                default: try value.skip()
                }
            }
            return ActionSummary(
                type: try type.required("type"), value: try text.required("value"),
                count: try count.required("count"), senders: try senders.required("senders"))
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
        var count: Int64?
        var lastReplyAt: Timetoken?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "count": count = try value.counter()
            case "lastReplyAt": lastReplyAt = try value.timetoken()
            default: try value.skip()
            }
        }
        self.init(count: try count.required("count"), lastReplyAt: try lastReplyAt.required("lastReplyAt"))
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
        var type: String?
        var text: String?
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
            sender: try sender.required("sender"), type: try type.required("type"), value: try text.required("value"))
    }
}
