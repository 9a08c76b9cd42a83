import ScrollbackModel
import ScrollbackWire

// The text that the outbox stores for a request. It is a format of the local store: a change of the server's API does
// not change it. The row has the conversation, so the text does not repeat it.

extension OutboxRequest {
    /// The version of the format.
    ///
    /// A version that older SDKs misread gets the next number, and the SDK still reads all earlier ones.
    private static let draftVersion: Int64 = 1

    /// Returns the text to store for a message to send.
    static func draft(of submission: Submission) -> String {
        draft("send") { submission.writeMembers(to: &$0) }
    }

    private static func draft(_ kind: String, _ members: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("version", draftVersion)
            writer.field("request", kind)
            members(&writer)
        }
        return writer.text
    }

    /// The text to store.
    var draft: String {
        switch self {
        case .send(let request): Self.draft(of: request.submission)
        case .edit(let request):
            Self.draft("edit") { writer in
                writer.field("message", request.id)
                writer.field("operation", request.operation)
                request.edit.writeMembers(to: &writer)
            }
        case .delete(let request):
            Self.draft("delete") { writer in
                writer.key("messages")
                writer.array(request.ids) { $0.value($1.description) }
                writer.field("audience", request.audience.rawValue)
            }
        case .addAction(let request):
            Self.draft("addAction") { writer in
                writer.field("message", request.id)
                writer.field("operation", request.operation)
                writer.field("action", request.action.type)
                writer.field("value", request.action.value)
            }
        case .removeAction(let request):
            Self.draft("removeAction") { writer in
                writer.field("message", request.id)
                writer.field("operation", request.operation)
                switch request.action {
                case .at(let time): writer.field("timetoken", time)
                case .own(let type, let value):
                    writer.field("action", type)
                    writer.field("value", value)
                }
            }
        case .clear(let request):
            Self.draft("clear") { writer in
                writer.field("seq", request.seq)
                writer.field("epoch", request.epoch)
            }
        case .schedule(let request):
            Self.draft("schedule") { request.writeMembers(to: &$0) }
        case .changeThread(let request):
            Self.draft("changeThread") { writer in
                writer.field("message", request.thread)
                request.change.writeMembers(to: &writer)
            }
        case .putConversation(let request):
            Self.draft("putConversation") { writer in
                writer.field("operation", request.operation)
                writer.field("exists", request.exists)
                request.settings.writeMembers(to: &writer)
            }
        case .deleteConversation: Self.draft("deleteConversation") { _ in }
        case .putMember(let request):
            Self.draft("putMember") { request.writeMembers(to: &$0) }
        case .removeMember(let request):
            Self.draft("removeMember") { request.writeMembers(to: &$0) }
        case .leave(let request):
            Self.draft("leave") { request.writeMembers(to: &$0) }
        case .putUser(let request):
            Self.draft("putUser") { writer in
                writer.field("user", request.user)
                request.change.writeMembers(to: &writer)
            }
        }
    }

    /// Reads a stored text of any version.
    ///
    /// - Parameter isMessage: Whether the row is a message to send. Only texts without a version need it.
    /// - Throws: `local-storage` for a text of a later version, or one that is no request of the outbox.
    init(draft text: String, in conversation: ConversationID, isMessage: Bool) throws(ChatError) {
        var reader = JSONReader(text)
        let draft = DraftReader(members: try JSONMembers(&reader))
        guard let version = try draft.optional("version", { (value) throws(ChatError) in try value.integer() }) else {
            try self.init(unversioned: text, in: conversation, isMessage: isMessage)
            return
        }
        guard version == Self.draftVersion else {
            throw ChatError(
                .localStorage,
                "The outbox has a request of version \(version), but this SDK reads versions up to "
                    + "\(Self.draftVersion). Update the app.")
        }
        let kind = try draft.text("request")
        switch kind {
        case "send": self = try Self.send(text, in: conversation)
        case "edit":
            self = .edit(
                EditMessage(
                    conversation: conversation, id: try draft.message(), edit: try draft.edit(),
                    operation: try draft.operation()))
        case "delete":
            let ids = try draft.required("messages") { (value) throws(ChatError) in
                try value.list("messages", limit: .max) { (id) throws(ChatError) in try id.messageID() }
            }
            let audience = try DeletionAudience(rawValue: draft.text("audience")).required("audience")
            self = .delete(DeleteMessages(conversation: conversation, ids: ids, audience: audience))
        case "addAction":
            let action = ActionContent(type: try draft.text("action"), value: try draft.text("value"))
            self = .addAction(
                AddAction(
                    conversation: conversation, id: try draft.message(), action: action,
                    operation: try draft.operation()))
        case "removeAction":
            let time = try draft.optional("timetoken") { (value) throws(ChatError) in try value.timetoken() }
            let action: ActionReference =
                if let time { .at(time) } else { .own(type: try draft.text("action"), value: try draft.text("value")) }
            self = .removeAction(
                RemoveAction(
                    conversation: conversation, id: try draft.message(), action: action,
                    operation: try draft.operation()))
        case "clear":
            let seq = try draft.required("seq") { (value) throws(ChatError) in try value.integer() }
            let epoch = try draft.required("epoch") { (value) throws(ChatError) in try value.epoch() }
            self = .clear(ClearConversation(conversation: conversation, seq: seq, epoch: epoch))
        case "schedule":
            var reader = draft.reader
            self = .schedule(try ScheduleMessage(from: &reader))
        case "changeThread":
            let isFollowed = try draft.optional("followed") { (value) throws(ChatError) in try value.bool() }
            let seq = try draft.optional("seq") { (value) throws(ChatError) in try value.integer() }
            let epoch = try draft.optional("epoch") { (value) throws(ChatError) in try value.epoch() }
            var change = ThreadChange(isFollowed: isFollowed)
            if let seq, let epoch { change.read = EpochPosition(seq: seq, epoch: epoch) }
            self = .changeThread(
                ChangeThread(conversation: conversation, thread: try draft.message(), change))
        case "putConversation":
            let exists = try draft.optional("exists") { (value) throws(ChatError) in try value.bool() }
            var reader = draft.reader
            self = .putConversation(
                PutConversation(
                    conversation: conversation.administered, settings: try ConversationSettings(from: &reader),
                    exists: exists, operation: try draft.operation()))
        case "deleteConversation":
            self = .deleteConversation(DeleteConversation(conversation: conversation.administered))
        case "putMember":
            var reader = draft.reader
            self = .putMember(try PutMember(from: &reader))
        case "removeMember":
            var reader = draft.reader
            self = .removeMember(try RemoveMember(from: &reader))
        case "leave":
            var reader = draft.reader
            self = .leave(try RemoveMember(from: &reader))
        case "putUser":
            let user = try draft.required("user") { (value) throws(ChatError) in try value.user() }
            var reader = draft.reader
            self = .putUser(PutUser(user: user, try ProfileChange(from: &reader)))
        default: throw Self.unknown(kind)
        }
    }

    private static func send(_ text: String, in conversation: ConversationID) throws(ChatError) -> OutboxRequest {
        var reader = JSONReader(text)
        let submission = try Submission(from: SubmissionFields(from: &reader), limits: unlimited)
        return .send(SendMessage(conversation: conversation, submission: submission))
    }

    /// Requests were validated when they were queued.
    ///
    /// Limits may have changed since, and the server validates again.
    fileprivate static let unlimited = Limits(
        frameBytes: .max, contentBytes: .max, attributeBytes: .max, pageSize: 100)

    private static func unknown(_ kind: String) -> ChatError {
        ChatError(.localStorage, "The outbox has a request of the unknown type \(kind).")
    }

    /// Reads a text of an SDK before version 1 of the format: a message to send, or the WebSocket frame of another
    /// request.
    ///
    /// A schema migration can't convert these rows, because it has no keys for the storage encryption.
    private init(unversioned text: String, in conversation: ConversationID, isMessage: Bool) throws(ChatError) {
        if isMessage {
            self = try Self.send(text, in: conversation)
            return
        }
        let frame = try RequestFrame(own: Array(text.utf8))
        var reader = RequestReader(frame: frame.members, limits: Self.unlimited)
        switch frame.type {
        case EditMessage.endpoint.frame: self = .edit(try EditMessage(from: &reader))
        case DeleteMessages.endpoint.frame: self = .delete(try DeleteMessages(from: &reader))
        case AddAction.endpoint.frame: self = .addAction(try AddAction(from: &reader))
        case RemoveAction.endpoint.frame: self = .removeAction(try RemoveAction(from: &reader))
        case ClearConversation.endpoint.frame: self = .clear(try ClearConversation(from: &reader))
        default: throw Self.unknown(frame.type)
        }
    }
}

/// Reads the members of a stored request.
private struct DraftReader {
    let members: JSONMembers

    /// A reader of parameters, for requests that are stored under the names of their parameters.
    var reader: RequestReader { RequestReader(frame: members, limits: OutboxRequest.unlimited) }

    func optional<Value>(
        _ name: String, _ read: (inout JSONReader) throws(ChatError) -> Value
    ) throws(ChatError) -> Value? {
        guard var value = members[name] else { return nil }
        return try read(&value)
    }

    func required<Value>(
        _ name: String, _ read: (inout JSONReader) throws(ChatError) -> Value
    ) throws(ChatError) -> Value {
        try optional(name, read).required(name)
    }

    func text(_ name: String) throws(ChatError) -> String {
        try required(name) { (value) throws(ChatError) in try value.string() }
    }

    func message() throws(ChatError) -> MessageID {
        try required("message") { (value) throws(ChatError) in try value.messageID() }
    }

    func operation() throws(ChatError) -> MessageID? {
        try optional("operation") { (value) throws(ChatError) in try value.messageID() }
    }

    func edit() throws(ChatError) -> MessageEdit {
        let content = try required("content") { (value) throws(ChatError) in try value.raw() }
        return MessageEdit(
            MessageContent(known: MessageType(rawValue: try text("type")), json: content),
            mentions: try change("mentions") { (value) throws(ChatError) in try Mentions(from: &value) },
            metadata: try change("metadata") { (value) throws(ChatError) in try value.raw() },
            extra: try change("extra") { (value) throws(ChatError) in try value.raw() },
            customType: try change("customType") { (value) throws(ChatError) in try value.string() })
    }

    /// Reads a change of an attribute: absent to keep it, `null` to remove it.
    private func change<Value>(
        _ name: String, _ read: (inout JSONReader) throws(ChatError) -> Value
    ) throws(ChatError) -> MessageEdit.Change<Value> {
        let change: MessageEdit.Change<Value>? = try optional(name) { (value) throws(ChatError) in
            try value.null() ? .remove : .set(try read(&value))
        }
        return change ?? .keep
    }
}
