package import ScrollbackModel

extension FetchQuery {
    package func writeMembers(to writer: inout JSONWriter) {
        writer.key("conversations")
        writer.array(conversations.filter { $0.cursor == nil }) { $0.value($1.id.description) }
        let cursors = conversations.filter { $0.cursor != nil }
        if !cursors.isEmpty {
            writer.key("cursors")
            writer.object { writer in
                for case (let id, let cursor?) in cursors {
                    writer.key(escaping: id.description)
                    writer.value(cursor.rawValue)
                }
            }
        }
        var one = HistoryQuery(anchor, sort: sort, filter: filter).parameters
        one.values["limit"] = limit.map { [String($0)] }
        if includesActions { one.values["include"] = ["actions"] }
        one.write(to: &writer)
    }
}

extension FetchedPage {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("conversation", conversation)
            switch result {
            case .success(let page): page.writeMembers(to: &writer)
            case .failure(let error):
                writer.key("error")
                error.writeProblem(to: &writer)
            }
        }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var page = LogPageFields()
        var conversation: ConversationID?
        var error: ChatError?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "conversation": conversation = try value.conversation()
            case "error": error = try ChatError(problem: &value)
            default: if try !page.read(name, &value) { try value.skip() }
            }
        }
        let id = try conversation.required("conversation")
        if let error {
            self.init(conversation: id, result: .failure(error))
        } else {
            self.init(conversation: id, result: .success(try page.page()))
        }
    }
}
