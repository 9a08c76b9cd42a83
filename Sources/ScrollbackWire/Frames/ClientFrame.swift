package import ScrollbackModel

/// What a device sends over the WebSocket, one JSON object a text frame.
package enum ClientFrame: Sendable {
    case hello(Hello)
    case request(ref: Int64, ClientRequest)

    package struct Hello: Sendable {
        package var token: String
        /// Names this device among the user's; another connection of the same device replaces the first.
        package var device: String
        /// Where the last pass of `sync` ended.
        package var cursor: String?

        package init(token: String, device: String, cursor: String?) {
            self.token = token
            self.device = device
            self.cursor = cursor
        }
    }

    /// The subprotocol both sides name in the handshake.
    package static let subprotocol = "scrollback.v1.json"
}

/// A request, answered by one `result` or `error` with the same `ref`.
package enum ClientRequest: Sendable {
    case send(ConversationID, Submission)
    case history(ConversationID, HistoryQuery)
    case read(ConversationID, seq: Seq, epoch: Epoch)
    /// Gives a message other content; with the same operation again the first answer comes again.
    case edit(ConversationID, MessageID, MessageEdit, operation: MessageID)
    /// Deletes messages for everyone, or for oneself alone.
    case delete(ConversationID, [MessageID], forMe: Bool)
    /// Deletes a range of history for everyone; with the same operation again the first answer comes again.
    case deleteHistory(ConversationID, DeleteRange, operation: MessageID)
    /// Attaches an action to a message.
    case addAction(ConversationID, MessageID, type: String, value: String, operation: MessageID)
    /// Takes an action off a message.
    case removeAction(ConversationID, MessageID, ActionReference, operation: MessageID)
    /// Actions on a message, or on any of a conversation, after a time.
    case actions(ConversationID, MessageID?, after: Timetoken?, limit: Int)
    /// Hides everything up to a place from oneself.
    case clear(ConversationID, seq: Seq, epoch: Epoch)
    /// Pages of several conversations.
    case fetch(FetchQuery)
    /// How many messages there are since a time.
    case counts([(conversation: ConversationID, time: Timetoken)])
    /// Messages as they are now.
    case refresh([MessageReference])
    /// Messages that have certain words.
    case search(SearchQuery)
    /// The next window of what moved.
    case syncWindow(cursor: String?, limit: Int)
    /// What these logs have that the device has not.
    case syncLogs([LogPosition])
    /// The full stream of community channels and rooms.
    case subscribe([ConversationID])
    case unsubscribe([ConversationID])
    /// Profiles; of users who have none nothing comes.
    case users([UserID])
    /// Foreground or background.
    case activity(isActive: Bool)
    /// A fresh token, before the old one expires.
    case token(String)
    case ping

    /// The most logs one `sync` asks about.
    package static let maximumPositions = 100
    package static let maximumWindow = 100
    /// The most profiles one `users` asks for.
    package static let maximumUsers = 100
}

extension ClientFrame {
    package func encoded() -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            switch self {
            case .hello(let hello):
                writer.field("type", "hello")
                writer.field("token", hello.token)
                writer.field("device", hello.device)
                writer.field("cursor", hello.cursor)
            case .request(let ref, let request):
                writer.field("type", request.name)
                writer.field("ref", ref)
                request.writeMembers(to: &writer)
            }
        }
        return writer.bytes
    }

    /// - Throws: `malformed` when it is not a JSON object with a known `type`; else an error about the member that is
    ///   wrong, with the frame's `ref` where it has one.
    package static func decode(_ bytes: [UInt8], limits: Limits) throws(RequestError) -> ClientFrame {
        var fields = Fields()
        do {
            var reader = try JSONReader(bytes)
            // The type and the ref first, wherever they stand: what the other members mean depends on them.
            var first = reader
            try first.object { (name, value) throws(ChatError) in
                switch name {
                case "type": fields.type = try value.string()
                case "ref": fields.ref = try value.integer()
                default: try value.skip()
                }
            }
            try first.end()
            try fields.checkType()
            try reader.object { (name, value) throws(ChatError) in try fields.read(name, &value) }
            return try fields.frame(limits: limits)
        } catch {
            throw RequestError(ref: fields.ref, error: error)
        }
    }
}

/// Why a frame was not understood, and which request it was.
package struct RequestError: Error {
    package var ref: Int64?
    package var error: ChatError
}

extension ClientRequest {
    static let names: Set<String> = [
        "send", "history", "read", "edit", "delete", "deleteHistory", "action", "removeAction", "actions", "clear",
        "fetch", "counts", "search", "refresh", "sync", "subscribe", "unsubscribe", "users", "activity", "token",
        "ping",
    ]

    var name: String {
        switch self {
        case .send: "send"
        case .history: "history"
        case .read: "read"
        case .edit: "edit"
        case .delete: "delete"
        case .deleteHistory: "deleteHistory"
        case .addAction: "action"
        case .removeAction: "removeAction"
        case .actions: "actions"
        case .clear: "clear"
        case .fetch: "fetch"
        case .counts: "counts"
        case .refresh: "refresh"
        case .search: "search"
        case .syncWindow, .syncLogs: "sync"
        case .subscribe: "subscribe"
        case .unsubscribe: "unsubscribe"
        case .users: "users"
        case .activity: "activity"
        case .token: "token"
        case .ping: "ping"
        }
    }

    func writeMembers(to writer: inout JSONWriter) {
        switch self {
        case .send(let conversation, let submission):
            writer.field("conversation", conversation)
            writer.key("message")
            writer.object { submission.writeMembers(to: &$0) }
        case .history(let conversation, let query):
            writer.field("conversation", conversation)
            query.parameters.write(to: &writer)
        case .read(let conversation, let seq, let epoch), .clear(let conversation, let seq, let epoch):
            writer.field("conversation", conversation)
            writer.field("seq", seq)
            writer.field("epoch", epoch)
        case .edit(let conversation, let id, let edit, let operation):
            writer.field("conversation", conversation)
            writer.field("id", id)
            writer.field("operation", operation)
            writer.key("edit")
            writer.object { edit.writeMembers(to: &$0) }
        case .delete(let conversation, let ids, let forMe):
            writer.field("conversation", conversation)
            writer.key("ids")
            writer.array(ids) { $0.value($1.description) }
            if forMe { writer.field("for", "me") }
        case .deleteHistory(let conversation, let range, let operation):
            writer.field("conversation", conversation)
            writer.field("from", range.from?.text)
            writer.field("to", range.to?.text)
            if range == .all { writer.field("all", true) }
            writer.field("operation", operation)
        case .addAction(let conversation, let id, let type, let value, let operation):
            writer.field("conversation", conversation)
            writer.field("id", id)
            writer.field("operation", operation)
            writer.action(type, value)
        case .removeAction(let conversation, let id, let reference, let operation):
            writer.field("conversation", conversation)
            writer.field("id", id)
            switch reference {
            case .at(let timetoken): writer.field("timetoken", timetoken)
            case .own(let type, let value): writer.action(type, value)
            }
            writer.field("operation", operation)
        case .actions(let conversation, let id, let after, let limit):
            writer.field("conversation", conversation)
            writer.field("id", id)
            writer.field("after", after)
            writer.field("limit", limit)
        case .fetch(let query): query.writeMembers(to: &writer)
        case .counts(let since):
            writer.key("since")
            writer.object { writer in
                for (conversation, time) in since { writer.field(conversation.description, time) }
            }
        case .refresh(let references):
            writer.key("messages")
            writer.array(references) { writer, reference in writer.object { reference.writeMembers(to: &$0) } }
        case .search(let query): query.writeMembers(to: &writer)
        case .syncWindow(let cursor, let limit):
            writer.field("cursor", cursor)
            writer.field("limit", limit)
        case .syncLogs(let positions):
            writer.key("positions")
            writer.array(positions) { $1.write(to: &$0) }
        case .subscribe(let conversations), .unsubscribe(let conversations):
            writer.key("conversations")
            writer.array(conversations) { $0.value($1.description) }
        case .users(let users):
            writer.key("users")
            writer.array(users) { $0.value($1.text) }
        case .activity(let isActive): writer.field("active", isActive)
        case .token(let token): writer.field("token", token)
        case .ping: break
        }
    }
}

/// The members of a frame as they come.
private struct Fields {
    var type: String?
    var ref: Int64?
    var token: String?
    var device: String?
    var cursor: String?
    var conversation: ConversationID?
    var conversations: [ConversationID]?
    var message: SubmissionFields?
    var id: MessageID?
    var ids: [MessageID]?
    var isForMe = false
    var range = DeleteRangeFields()
    var operation: MessageID?
    var edit: MessageEditFields?
    var action: (type: String, value: String)?
    var timetoken: Timetoken?
    var after: Timetoken?
    var fetch = FetchFields()
    var since: [(conversation: ConversationID, time: Timetoken)]?
    var references: [MessageReference]?
    var history = HistoryParameters([:])
    var search = SearchParameters()
    var positions: [LogPosition]?
    var users: [UserID]?
    var seq: Seq?
    var epoch: Epoch?
    var limit: Int64?
    var isActive: Bool?

    mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) {
        if type == "history", try history.read(name, &value) { return }
        if type == "fetch", try fetch.read(name, &value) { return }
        if type == "search", try search.read(name, &value) { return }
        switch name {
        case "id": id = try value.null() ? nil : value.messageID()
        case "ids":
            ids = try value.list("ids", limit: 100) { (id) throws(ChatError) in try id.messageID("ids") }
        case "for": isForMe = try value.forMe()
        case "from": range.from = try value.null() ? nil : value.string()
        case "to": range.to = try value.null() ? nil : value.string()
        case "all": range.isAll = try value.bool()
        case "operation": operation = try value.messageID("operation")
        case "edit":
            var fields = MessageEditFields()
            try value.object { (name, value) throws(ChatError) in
                if name == "type" {
                    fields.type = try MessageType(try value.string())
                } else if try !fields.read(name, &value) {
                    try value.skip()
                }
            }
            edit = fields
        case "action": action = try value.action()
        case "timetoken": timetoken = try value.timetoken()
        case "after": after = try value.null() ? nil : value.timetoken("after")
        case "since": since = try MessageCounts.times(&value).map { (conversation: $0.0, time: $0.1) }
        case "messages":
            references = try value.list("messages", limit: 20) { (reference) throws(ChatError) in
                try MessageReference(from: &reference)
            }
        case "token": token = try value.string()
        case "device": device = try Identifier(try value.string(), parameter: "device").text
        case "cursor": cursor = try value.null() ? nil : value.string()
        case "conversation": conversation = try value.conversation()
        case "conversations":
            conversations = try value.list("conversations", limit: 500) { (id) throws(ChatError) in
                try id.conversation()
            }
        case "message": message = try SubmissionFields(from: &value)
        case "positions":
            positions = try value.list("positions", limit: ClientRequest.maximumPositions) {
                (position) throws(ChatError) in try LogPosition(from: &position)
            }
        case "users": users = try value.users()
        case "seq": seq = try value.integer()
        case "epoch": epoch = try value.epoch()
        case "limit": limit = try value.integer()
        case "active": isActive = try value.bool()
        default: try value.skip()
        }
    }

    /// Of a type that is not known, no member is looked at: what it holds is another version's business.
    func checkType() throws(ChatError) {
        guard let type else { throw ChatError(.malformed, "a frame must have a type", parameter: "type") }
        guard type == "hello" || ClientRequest.names.contains(type) else {
            throw ChatError(.unknownOperation, "there is no request \"\(type)\"", parameter: "type")
        }
    }

    func frame(limits: Limits) throws(ChatError) -> ClientFrame {
        if type == "hello" {
            return .hello(
                .init(token: try token.required("token"), device: try device.required("device"), cursor: cursor))
        }
        return .request(ref: try ref.required("ref"), try request(type ?? "", limits: limits))
    }

    private static func count(_ limit: Int64) throws(ChatError) -> Int {
        guard let count = Int(exactly: limit) else { throw .invalidParameter("limit", "must be in range") }
        return count
    }

    private func request(_ type: String, limits: Limits) throws(ChatError) -> ClientRequest {
        switch type {
        case "send":
            let submission = try Submission(from: try message.required("message"), limits: limits)
            return .send(try conversation.required("conversation"), submission)
        case "history": return .history(try conversation.required("conversation"), try history.query())
        case "read":
            return .read(
                try conversation.required("conversation"), seq: try seq.required("seq"),
                epoch: try epoch.required("epoch"))
        case "clear":
            return .clear(
                try conversation.required("conversation"), seq: try seq.required("seq"),
                epoch: try epoch.required("epoch"))
        case "edit":
            return .edit(
                try conversation.required("conversation"), try id.required("id"),
                try edit.required("edit").edit(limits: limits), operation: try operation.required("operation"))
        case "delete":
            return .delete(try conversation.required("conversation"), try ids.required("ids"), forMe: isForMe)
        case "deleteHistory":
            return .deleteHistory(
                try conversation.required("conversation"), try range.range(),
                operation: try operation.required("operation"))
        case "action":
            let action = try action.required("action")
            return .addAction(
                try conversation.required("conversation"), try id.required("id"), type: action.type,
                value: action.value, operation: try operation.required("operation"))
        case "removeAction":
            let reference: ActionReference
            if let action {
                guard timetoken == nil else {
                    throw .invalidParameter("timetoken", "does not go with action: give one of them")
                }
                reference = .own(type: action.type, value: action.value)
            } else {
                reference = .at(try timetoken.required("timetoken"))
            }
            return .removeAction(
                try conversation.required("conversation"), try id.required("id"), reference,
                operation: try operation.required("operation"))
        case "actions":
            return .actions(
                try conversation.required("conversation"), id, after: after, limit: try Self.count(limit ?? 20))
        case "fetch": return .fetch(try fetch.query())
        case "counts": return .counts(try since.required("since"))
        case "refresh": return .refresh(try references.required("messages"))
        case "search": return .search(try search.query(in: conversation))
        case "sync":
            if let positions { return .syncLogs(positions) }
            let limit = limit ?? 50
            guard (1...Int64(ClientRequest.maximumWindow)).contains(limit) else {
                throw .invalidParameter(
                    "limit", "must be in 1...\(ClientRequest.maximumWindow)", limit: ClientRequest.maximumWindow)
            }
            return .syncWindow(cursor: cursor, limit: Int(limit))
        case "subscribe": return .subscribe(try conversations.required("conversations"))
        case "unsubscribe": return .unsubscribe(try conversations.required("conversations"))
        case "users": return .users(try users.required("users"))
        case "activity": return .activity(isActive: try isActive.required("active"))
        case "token": return .token(try token.required("token"))
        case "ping": return .ping
        default: throw ChatError(.unknownOperation, "there is no request \"\(type)\"", parameter: "type")
        }
    }
}

extension JSONWriter {
    /// The type and the value of an action.
    fileprivate mutating func action(_ type: String, _ value: String) {
        key("action")
        object { writer in
            writer.field("type", type)
            writer.field("value", value)
        }
    }
}

extension JSONReader {
    /// Whom a delete is for.
    package mutating func forMe() throws(ChatError) -> Bool {
        let text = try string()
        guard text == "me" || text == "everyone" else { throw .invalidParameter("for", "must be me or everyone") }
        return text == "me"
    }

    /// The type and the value of an action.
    package mutating func action() throws(ChatError) -> (type: String, value: String) {
        var type: String?
        var text: String?
        try object { (name, value) throws(ChatError) in
            switch name {
            case "type": type = try value.string()
            case "value": text = try value.string()
            default: try value.skip()
            }
        }
        let action = (type: try type.required("type"), value: try text.required("value"))
        try MessageAction.check(type: action.type, value: action.value)
        return action
    }
}
