import Foundation
package import ScrollbackModel

/// The members of a frame as they come.
struct ClientFields {
    var type: String?
    var ref: Int64?
    var token: String?
    var device: String?
    var cursor: String?
    var conversation: ConversationID?
    var conversations: [ConversationID]?
    var marks: [ReadMark]?
    var state = StateChangeFields()
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
    var isTyping: Bool?
    var user: UserID?
    var people = PeopleFields()
    var push = PushOperationFields()
    var sharesPresence = false
    var until: Date?
    var banReason: String?
    var reportReason: ReportReason?
    var text: String?

    mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) {
        if type == "history", try history.read(name, &value) { return }
        if type == "fetch", try fetch.read(name, &value) { return }
        if type == "search", try search.read(name, &value) { return }
        if StateChange.names.contains(type ?? ""), try state.read(name, &value) { return }
        if let type, PeopleRequest.names.contains(type), try people.read(name, &value) { return }
        if let type, PushOperation.names.contains(type), try push.read(name, &value) { return }
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
        case "conversations" where type == "readMany": marks = try ReadMark.list(&value)
        case "conversations":
            let limit = type == "heads" ? ClientRequest.maximumHeads : 500
            conversations = try value.list("conversations", limit: limit) { (id) throws(ChatError) in
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
        case "isTyping": isTyping = try value.bool()
        case "user" where Self.aboutUser.contains(type ?? ""): user = try value.user()
        case "until" where type == "ban": until = try value.null() ? nil : value.date("until")
        case "reason" where type == "ban": banReason = try value.null() ? nil : value.banReason()
        case "reason" where type == "report": reportReason = try ReportReason(try value.string())
        case "text" where type == "report": text = try value.null() ? nil : value.reportText("text")
        case "presence" where type == "hello": sharesPresence = try value.bool()
        case "active": isActive = try value.bool()
        default: try value.skip()
        }
    }

    /// The requests that name one user.
    private static let aboutUser: Set<String> = ["block", "unblock", "ban", "unban"]

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
                .init(
                    token: try token.required("token"), device: try device.required("device"), cursor: cursor,
                    sharesPresence: sharesPresence, isActive: isActive ?? true))
        }
        return .request(ref: try ref.required("ref"), try request(type ?? "", limits: limits))
    }

    static func count(_ limit: Int64) throws(ChatError) -> Int {
        guard let count = Int(exactly: limit) else { throw .invalidParameter("limit", "must be in range") }
        return count
    }

    private func request(_ type: String, limits: Limits) throws(ChatError) -> ClientRequest {
        if let request = try peopleRequest(type) { return .people(request) }
        if let operation = try push.operation(type) { return .push(operation) }
        switch type {
        case "send":
            let submission = try Submission(from: try message.required("message"), limits: limits)
            return .send(try conversation.required("conversation"), submission)
        case "history": return .history(try conversation.required("conversation"), try history.query())
        case _ where StateChange.names.contains(type):
            return .state(try conversation.required("conversation"), try state.change(type))
        case "readMany": return .readMany(try marks.required("conversations"))
        case "heads": return .heads(try conversations.required("conversations"))
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
        case "typing":
            return .typing(
                try conversation.required("conversation"), isTyping: try isTyping.required("isTyping"))
        case "block", "unblock": return .block(try user.required("user"), isOn: type == "block")
        case "blocks":
            return .blocks(
                after: try cursor.map { (text) throws(ChatError) in try UserID(text, parameter: "cursor") },
                limit: try Self.count(limit ?? 20))
        case "ban":
            return .ban(
                try conversation.required("conversation"), try user.required("user"), until: until, reason: banReason)
        case "unban": return .unban(try conversation.required("conversation"), try user.required("user"))
        case "bans":
            return .bans(
                try conversation.required("conversation"),
                after: try cursor.map { (text) throws(ChatError) in try UserID(text, parameter: "cursor") },
                limit: try Self.count(limit ?? 20))
        case "report":
            return .report(
                try conversation.required("conversation"), try id.required("id"),
                reason: try reportReason.required("reason"), text: text)
        case "users": return .users(try users.required("users"))
        case "activity": return .activity(isActive: try isActive.required("active"))
        case "token": return .token(try token.required("token"))
        case "ping": return .ping
        default: throw ChatError(.unknownOperation, "there is no request \"\(type)\"", parameter: "type")
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
