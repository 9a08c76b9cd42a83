import Crypto
import Foundation
import ScrollbackModel
import ScrollbackWire

/// One line of a chat log.
struct ImportLine {
    var id: String
    var channel: String?
    var sender: UserID
    var time: Date
    var fields: SubmissionFields

    /// Parses a line.
    ///
    /// - Parameter number: The line number in the file, for errors.
    init(_ bytes: Data, number: Int) throws(ChatError) {
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
    func requiredChannel(line number: Int) throws(ChatError) -> Identifier {
        guard let channel else { throw .invalidParameter("channel", "is missing in line \(number) of the file") }
        do {
            return try Identifier(channel, parameter: "channel")
        } catch {
            throw ChatError(error.code, "Line \(number) of the file: \(error.message)", parameter: "channel")
        }
    }

    /// Returns the message's ID, which is the same for each import of the file.
    ///
    /// This is the line's own ID if it is a UUID, or a UUID derived from it (RFC 9562, version 8). For direct
    /// conversations, the derived ID includes the channel, because IDs are unique only within a channel.
    func messageID(in conversation: ConversationID) -> MessageID {
        if let uuid = try? MessageID(id) { return uuid }
        let namespace = conversation.kind == .direct ? "\(conversation)\u{0}\(channel ?? "")" : "\(conversation)"
        let digest = SHA256.hash(data: Data("scrollback import\u{0}\(namespace)\u{0}\(id)".utf8))
        return digest.withUnsafeBytes { bytes in
            let high = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
            let low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            return MessageID(
                high: high & ~0xF000 | 0x8000, low: low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000)
        }
    }

    func write(to writer: inout JSONWriter, id: MessageID) {
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
