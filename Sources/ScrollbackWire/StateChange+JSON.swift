package import ScrollbackModel

extension StateChange {
    var name: String {
        switch self {
        case .read: "read"
        case .markUnread: "markUnread"
        case .settings: "settings"
        case .notifications: "notifications"
        case .removeRecent: "removeRecent"
        case .addRecent: "addRecent"
        case .excludeFromNewDevices: "stopRoaming"
        }
    }

    func writeMembers(to writer: inout JSONWriter) {
        switch self {
        case .read(let seq, let epoch, let userRev):
            EpochPosition(seq: seq, epoch: epoch).writeMembers(to: &writer)
            writer.field("userRev", userRev)
        case .settings(let isMuted, let isPinned):
            writer.field("muted", isMuted)
            writer.field("pinned", isPinned)
        case .notifications(let level): writer.field("notifications", level?.rawValue)
        case .removeRecent(let position, let excludesFromNewDevices):
            position?.writeMembers(to: &writer)
            if excludesFromNewDevices { writer.field("stopRoaming", true) }
        case .excludeFromNewDevices(let position): position?.writeMembers(to: &writer)
        case .markUnread, .addRecent: break
        }
    }
}

extension StateChange {
    /// The JSON form in which clients store the change.
    package var stored: String {
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("type", name)
            writeMembers(to: &writer)
        }
        return writer.text
    }

    package init(stored text: String) throws(ChatError) {
        var reader = JSONReader(text)
        let members = try JSONMembers(&reader)
        var type = try members["type"].required("type")
        var request = RequestReader(frame: members, limits: .standard)
        self = try StateChange(try type.string(), from: &request)
    }
}

extension EpochPosition {
    func writeMembers(to writer: inout JSONWriter) {
        writer.field("seq", seq)
        writer.field("epoch", epoch)
    }
}

extension ReadMark {
    /// The maximum number of conversations in one request.
    package static let maximum = 500

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("conversation", conversation)
            position.writeMembers(to: &writer)
            writer.field("userRev", userRev)
        }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var conversation: ConversationID?
        var seq: Seq?
        var epoch: Epoch?
        var userRev: Int64?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "conversation": conversation = try value.conversation()
            case "seq": seq = try value.nonnegativeInteger()
            case "epoch": epoch = try value.epoch()
            case "userRev": userRev = try value.null() ? nil : value.integer()
            default: try value.skip()
            }
        }
        self.init(
            conversation: try conversation.required("conversation"),
            position: EpochPosition(seq: try seq.required("seq"), epoch: try epoch.required("epoch")), userRev: userRev)
    }

    package static func list(_ value: inout JSONReader) throws(ChatError) -> [ReadMark] {
        try value.list("conversations", limit: maximum) { (mark) throws(ChatError) in try ReadMark(from: &mark) }
    }
}

extension ReadResult {
    /// Writes the answer to a request to read several conversations.
    package static func write(_ answers: [ReadResult], to writer: inout JSONWriter) {
        writer.key("reads")
        writer.array(answers) { $1.write(to: &$0) }
    }

    package static func list(_ reader: inout JSONReader) throws(ChatError) -> [ReadResult] {
        var answers: [ReadResult]?
        try reader.object { (name, value) throws(ChatError) in
            guard name == "reads" else { return try value.skip() }
            answers = try value.list("reads", limit: ReadMark.maximum) { (answer) throws(ChatError) in
                try ReadResult(from: &answer)
            }
        }
        return try answers.required("reads")
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("conversation", conversation)
            switch result {
            case .success(let summary): summary.writeMembers(to: &writer)
            case .failure(let error):
                writer.key("error")
                error.writeProblem(to: &writer)
            }
        }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var whole = reader
        var conversation: ConversationID?
        var error: ChatError?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "conversation": conversation = try value.conversation()
            case "error": error = try ChatError(problem: &value)
            default: try value.skip()
            }
        }
        let id = try conversation.required("conversation")
        if let error {
            self.init(conversation: id, result: .failure(error))
        } else {
            self.init(conversation: id, result: .success(try ReadSummary(from: &whole)))
        }
    }
}
