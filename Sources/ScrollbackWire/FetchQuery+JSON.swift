package import ScrollbackModel

extension FetchQuery {
    package func writeMembers(to writer: inout JSONWriter) {
        writer.key("conversations")
        writer.array(conversations.filter { $0.cursor == nil }) { $0.value($1.id.description) }
        let cursors = conversations.filter { $0.cursor != nil }
        if !cursors.isEmpty {
            writer.key("cursors")
            writer.object { writer in
                for (id, cursor) in cursors { writer.field(id.description, cursor?.rawValue) }
            }
        }
        var one = HistoryQuery(anchor, sort: sort, filter: filter).parameters
        one.values["limit"] = limit.map { [String($0)] }
        if includesActions { one.values["include"] = ["actions"] }
        one.write(to: &writer)
    }
}

/// The members of a question for pages of several conversations, as they come.
package struct FetchFields {
    private var conversations: [(id: ConversationID, cursor: HistoryCursor?)] = []
    private var history = HistoryParameters([:])

    package init() {}

    /// - Returns: whether it is a member of such a question, and so was consumed.
    package mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) -> Bool {
        switch name {
        case "conversations":
            let named = try value.list("conversations", limit: 500) { (id) throws(ChatError) in try id.conversation() }
            conversations += named.map { ($0, nil) }
        case "cursors":
            try value.object { (name, cursor) throws(ChatError) in
                guard cursor.nextIsString else { throw .invalidParameter("cursors", "must be strings") }
                conversations.append((try ConversationID(name), HistoryCursor(rawValue: try cursor.string())))
            }
        case "cursor": throw .invalidParameter("cursor", "is one conversation's: give cursors, by conversation")
        default: return try history.read(name, &value)
        }
        return true
    }

    package func query() throws(ChatError) -> FetchQuery {
        // Read one by one from their oldest, as they were said.
        if history.values["sort"] == nil {
            var oldestFirst = self
            oldestFirst.history.values["sort"] = [Sort.oldestFirst.rawValue]
            return try oldestFirst.query()
        }
        let one = try history.query()
        let hasLimit = history.values["limit"] != nil
        var seen: Set<ConversationID> = []
        for (id, _) in conversations where !seen.insert(id).inserted {
            throw .invalidParameter("conversations", "names \(id) twice")
        }
        return FetchQuery(
            conversations, anchor: one.anchor, limit: hasLimit ? one.limit : nil, sort: one.sort, filter: one.filter,
            includesActions: one.includesActions)
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
