package import ScrollbackModel

extension MessageReference {
    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.field("id", id)
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var conversation: ConversationID?
        var id: MessageID?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "conversation": conversation = try value.conversation()
            case "id": id = try value.messageID()
            default: try value.skip()
            }
        }
        self.init(try id.required("id"), in: try conversation.required("conversation"))
    }
}
