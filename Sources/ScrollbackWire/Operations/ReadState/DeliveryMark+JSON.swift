package import ScrollbackModel

extension DeliveryMark {
    /// The maximum number of conversations in one request.
    package static let maximum = 500

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("conversation", conversation)
            position.writeMembers(to: &writer)
        }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var conversation: ConversationID?
        var seq: Seq?
        var epoch: Epoch?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "conversation": conversation = try value.conversation()
            case "seq": seq = try value.nonnegativeInteger()
            case "epoch": epoch = try value.epoch()
            default: try value.skip()
            }
        }
        self.init(
            conversation: try conversation.required("conversation"),
            position: EpochPosition(seq: try seq.required("seq"), epoch: try epoch.required("epoch")))
    }
}

extension DeliveryResult {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("conversation", conversation)
            if let error {
                writer.key("error")
                error.writeProblem(to: &writer)
            }
        }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var conversation: ConversationID?
        var error: ChatError?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "conversation": conversation = try value.conversation()
            case "error": error = try ChatError(problem: &value)
            default: try value.skip()
            }
        }
        self.init(conversation: try conversation.required("conversation"), error: error)
    }
}
