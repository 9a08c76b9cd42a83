package import ScrollbackModel

extension Submission {
    /// Writes the body of a request to send a message.
    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("id", id)
        writer.field("type", content.type)
        writer.field("content", content.json)
        attributes.writeMembers(to: &writer)
    }

    /// Validates the members of a submission.
    ///
    /// - Parameter isImported: Whether another system may have defined the type.
    package init(from fields: SubmissionFields, limits: Limits, isImported: Bool = false) throws(ChatError) {
        let type = try fields.type.required("type")
        let json = try fields.content.required("content")
        try Limits.check(json, "content", limits.contentBytes)
        let attributes = fields.attributes
        try limits.check(attribute: attributes.metadata, "metadata")
        try limits.check(attribute: attributes.extra, "extra")
        try limits.check(attribute: attributes.push, "push")
        if let push = attributes.push { _ = try PushOptions(push) }
        self.init(
            id: try fields.id.required("id"),
            content: try isImported
                ? MessageContent(anyType: type, json: json) : MessageContent(type: type, json: json),
            attributes: attributes)
    }
}

extension Submission {
    /// Validates the submission as the server does, with the same errors.
    ///
    /// - Throws: `invalid-parameter` or `too-large`.
    package func validated(limits: Limits) throws(ChatError) -> Submission {
        var writer = JSONWriter(reserving: 1024)
        writer.object { writeMembers(to: &$0) }
        var reader = try JSONReader(writer.bytes)
        return try Submission(from: SubmissionFields(from: &reader), limits: limits)
    }
}

extension Limits {
    /// Checks the size of an application-defined JSON attribute.
    ///
    /// - Throws: `too-large`.
    package func check(attribute json: RawJSON?, _ name: String) throws(ChatError) {
        try Self.check(json, name, attributeBytes)
    }

    static func check(_ json: RawJSON?, _ name: String, _ limit: Int) throws(ChatError) {
        guard let json, json.text.utf8.count > limit else { return }
        throw ChatError(
            .tooLarge, "\(name) must be at most \(limit) bytes of JSON but has \(json.text.utf8.count)",
            parameter: name,
            limit: limit)
    }
}

/// The members of a submission, read in one pass.
package struct SubmissionFields: Sendable {
    package var id: MessageID?
    package var type: MessageType?
    package var content: RawJSON?
    package var attributes = MessageAttributes()

    package init() {}

    package init(from reader: inout JSONReader) throws(ChatError) {
        var fields = SubmissionFields()
        try reader.object { (name, value) throws(ChatError) in
            if try !fields.read(name, &value) { try value.skip() }
        }
        self = fields
    }

    /// Reads one member.
    ///
    /// - Returns: Whether a submission has such a member. If not, its value is still to be read.
    package mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) -> Bool {
        switch name {
        case "id": id = try value.messageID()
        case "type": type = try MessageType(try value.string())
        case "content": content = try value.raw()
        default: return try attributes.readMember(name, &value)
        }
        return true
    }
}

extension SendResult {
    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("outcome", outcome.rawValue)
        writer.field("seq", position?.seq)
        writer.field("id", id)
        writer.field("timetoken", timetoken)
        writer.field("epoch", position?.epoch)
        writer.field("n", position?.countedIndex)
        writer.field("sentAt", timetoken.date)
        writer.field("thread", thread)
        writer.field("content", content)
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var outcome: Outcome?
        var id: MessageID?
        var timetoken: Timetoken?
        var seq: Seq?
        var countedIndex: Int64?
        var epoch: Epoch?
        var thread: MessageID?
        var content: RawJSON?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "outcome": outcome = Outcome(rawValue: try value.string())
            case "seq": seq = try value.counter()
            case "id": id = try value.messageID()
            case "timetoken": timetoken = try value.timetoken()
            case "epoch": epoch = try value.epoch()
            case "thread": thread = try value.messageID("thread")
            case "n": countedIndex = try value.counter()
            case "content": content = try value.raw()
            default: try value.skip()
            }
        }
        var position: Position?
        if let seq {
            position = Position(
                seq: seq, countedIndex: try countedIndex.required("n"), epoch: try epoch.required("epoch"))
        }
        self.init(
            outcome: try outcome.required("outcome"), id: try id.required("id"),
            timetoken: try timetoken.required("timetoken"), position: position, thread: thread,
            content: content)
    }
}
