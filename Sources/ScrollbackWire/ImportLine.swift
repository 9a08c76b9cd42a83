package import Foundation
package import ScrollbackModel

/// One line of a chat log.
package struct ImportLine: Sendable {
    package var id: String
    package var channel: String?
    package var sender: UserID
    package var time: Date
    package var fields: SubmissionFields

    /// Parses a line.
    ///
    /// - Parameter number: The line number in the file, for errors.
    package init(_ bytes: Data, number: Int) throws(ChatError) {
        do {
            try self.init(Array(bytes))
        } catch {
            throw ChatError(error.code, "Line \(number) of the file: \(error.message)", parameter: error.parameter)
        }
    }

    private init(_ bytes: [UInt8]) throws(ChatError) {
        var reader = try JSONReader(bytes)
        var id: String?
        var channel: String?
        var sender: UserID?
        var time: Date?
        var fields = SubmissionFields()
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "id": id = try value.string()
            case "channel": channel = try value.string()
            case "sender": sender = try value.user("sender")
            case "time": time = try value.date("time")
            case "text":
                let content = MessageContent.text(try value.string())
                fields.type = content.type
                fields.content = content.json
            case "type": fields.type = try MessageType(try value.string())
            case "content": fields.content = try value.raw()
            default: if try !fields.attributes.readMember(name, &value) { try value.skip() }
            }
        }
        try reader.end()
        self.id = try id.required("id")
        self.channel = channel
        self.sender = try sender.required("sender")
        self.time = try time.required("time")
        self.fields = fields
        guard fields.content != nil else { throw .invalidParameter("text", "is missing") }
    }

    /// Returns the channel of the message.
    ///
    /// - Throws: `invalid-parameter` if the channel is missing or is not a valid name.
    package func requiredChannel(line number: Int) throws(ChatError) -> Identifier {
        guard let channel else { throw .invalidParameter("channel", "is missing in line \(number) of the file") }
        do {
            return try Identifier(channel, parameter: "channel")
        } catch {
            throw ChatError(error.code, "Line \(number) of the file: \(error.message)", parameter: "channel")
        }
    }

    package func write(to writer: inout JSONWriter, id: MessageID) {
        writer.object { writer in
            writer.field("id", id)
            writer.field("sender", sender)
            writer.field("sentAt", time)
            writer.field("type", fields.type)
            writer.field("content", fields.content)
            fields.attributes.writeMembers(to: &writer)
        }
    }
}

/// The members of an imported message: those of a submission, its sender and its time.
package struct ImportedSubmission: Sendable {
    package var fields = SubmissionFields()
    package var sender: UserID?
    package var sentAt: Date?

    package init(from reader: inout JSONReader) throws(ChatError) {
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "sender": sender = try value.user(name)
            case "sentAt": sentAt = try value.date(name)
            default: if try !fields.read(name, &value) { try value.skip() }
            }
        }
    }
}
