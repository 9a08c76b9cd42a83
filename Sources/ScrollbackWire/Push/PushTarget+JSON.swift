package import ScrollbackModel

extension PushTarget {
    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.field("seq", seq)
        writer.field("epoch", epoch)
        writer.field("message", message)
        writer.field("sender", sender)
        writer.field("type", type)
        writer.field("receiver", receiver)
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var conversation: ConversationID?
        var seq: Seq?
        var epoch: Epoch?
        var message: MessageID?
        var sender: UserID?
        var type: MessageType?
        var receiver: UserID?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "conversation": conversation = try value.conversation()
            case "seq": seq = try value.null() ? nil : value.counter()
            case "epoch": epoch = try value.null() ? nil : value.epoch()
            case "message": message = try value.messageID("message")
            case "sender": sender = try value.user("sender")
            case "type": type = MessageType(rawValue: try value.string())
            case "receiver": receiver = try value.user("receiver")
            default: try value.skip()
            }
        }
        self.init(
            conversation: try conversation.required("conversation"), seq: seq, epoch: epoch,
            message: try message.required("message"), sender: try sender.required("sender"),
            type: try type.required("type"), receiver: try receiver.required("receiver"))
    }
}
