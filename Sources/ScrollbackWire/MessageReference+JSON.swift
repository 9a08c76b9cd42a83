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

/// What became of messages that were asked for once more.
package enum Refreshed {
    package typealias Answer = (reference: MessageReference, result: Result<Message, ChatError>)

    package static func write(_ answers: [Answer], to writer: inout JSONWriter) {
        writer.key("matched")
        writer.array(answers.compactMap { try? $0.result.get() }) { $1.write(to: &$0) }
        writer.key("notMatched")
        let failures = answers.compactMap { answer in
            if case .failure(let error) = answer.result { (answer.reference, error) } else { nil }
        }
        writer.array(failures) { writer, failure in
            writer.object { writer in
                failure.0.writeMembers(to: &writer)
                writer.key("error")
                failure.1.writeProblem(to: &writer)
            }
        }
    }

    package static func read(_ reader: inout JSONReader) throws(ChatError) -> [Answer] {
        var answers: [Answer] = []
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "matched":
                try value.array { (message) throws(ChatError) in
                    let message = try Message(from: &message)
                    answers.append((MessageReference(message.id, in: message.conversation), .success(message)))
                }
            case "notMatched":
                try value.array { (failure) throws(ChatError) in
                    var error: ChatError?
                    var whole = failure
                    try failure.object { (name, value) throws(ChatError) in
                        if name == "error" { error = try ChatError(problem: &value) } else { try value.skip() }
                    }
                    answers.append((try MessageReference(from: &whole), .failure(try error.required("error"))))
                }
            default: try value.skip()
            }
        }
        return answers
    }
}

/// How many messages conversations have since a time.
package enum MessageCounts {
    package typealias Answer = (conversation: ConversationID, count: Result<Int64, ChatError>)

    package static func write(_ answers: [Answer], to writer: inout JSONWriter) {
        writer.key("counts")
        writer.object { writer in
            for case (let id, .success(let count)) in answers { writer.field(id.description, count) }
        }
        let failures = answers.filter { if case .failure = $0.count { true } else { false } }
        guard !failures.isEmpty else { return }
        writer.key("errors")
        writer.object { writer in
            for case (let id, .failure(let error)) in failures {
                writer.key(id.description)
                error.writeProblem(to: &writer)
            }
        }
    }

    package static func read(_ reader: inout JSONReader) throws(ChatError) -> [Answer] {
        var answers: [Answer] = []
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "counts":
                try value.object { (name, count) throws(ChatError) in
                    answers.append((try ConversationID(name), .success(try count.integer())))
                }
            case "errors":
                try value.object { (name, error) throws(ChatError) in
                    answers.append((try ConversationID(name), .failure(try ChatError(problem: &error))))
                }
            default: try value.skip()
            }
        }
        return answers
    }

    /// The times that were given by conversation.
    ///
    /// - Throws: `invalid-parameter` for a conversation that is given twice: it would be answered twice.
    package static func times(_ reader: inout JSONReader) throws(ChatError) -> [(ConversationID, Timetoken)] {
        var since: [(ConversationID, Timetoken)] = []
        var seen: Set<ConversationID> = []
        try reader.object { (name, time) throws(ChatError) in
            let id = try ConversationID(name)
            guard seen.insert(id).inserted else { throw .invalidParameter("since", "names \(id) twice") }
            guard time.nextIsString else { throw .invalidParameter("since", "must give each time as a string") }
            since.append((id, try time.timetoken("since")))
        }
        return since
    }
}
