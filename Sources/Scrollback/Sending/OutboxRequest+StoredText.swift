import ScrollbackModel
import ScrollbackWire

// The text that the outbox stores for a request. It is a format of the local store: a change of the server's API does
// not change it. The row has the conversation, so the text does not repeat it.

extension OutboxRequest {
    /// The version of the format.
    ///
    /// A version that older SDKs misread gets the next number, and the SDK still reads all earlier ones.
    private static let formatVersion: Int64 = 1

    /// Returns the text to store for a message to send.
    static func storedText(of submission: Submission) -> String {
        storedText("send") { submission.writeMembers(to: &$0) }
    }

    private static func storedText(_ kind: String, _ members: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("version", formatVersion)
            writer.field("request", kind)
            members(&writer)
        }
        return writer.text
    }

    /// The text to store.
    var storedText: String {
        switch self {
        case .send(let request): Self.storedText(of: request.submission)
        case .edit(let request):
            Self.storedText("edit") { writer in
                writer.field("message", request.id)
                writer.field("operation", request.operation)
                request.edit.writeMembers(to: &writer)
            }
        case .delete(let request):
            Self.storedText("delete") { writer in
                writer.key("messages")
                writer.array(request.ids) { $0.value($1.description) }
                writer.field("audience", request.audience.rawValue)
            }
        case .addAction(let request):
            Self.storedText("addAction") { writer in
                writer.field("message", request.id)
                writer.field("operation", request.operation)
                writer.field("action", request.action.type)
                writer.field("value", request.action.value)
            }
        case .removeAction(let request):
            Self.storedText("removeAction") { writer in
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
            Self.storedText("clear") { writer in
                writer.field("seq", request.seq)
                writer.field("epoch", request.epoch)
            }
        case .schedule(let request):
            Self.storedText("schedule") { request.writeMembers(to: &$0) }
        case .changeThread(let request):
            Self.storedText("changeThread") { writer in
                writer.field("message", request.thread)
                request.change.writeMembers(to: &writer)
            }
        case .putConversation(let request):
            Self.storedText("putConversation") { writer in
                writer.field("operation", request.operation)
                writer.field("exists", request.exists)
                request.settings.writeMembers(to: &writer)
            }
        case .deleteConversation: Self.storedText("deleteConversation") { _ in }
        case .putMember(let request):
            Self.storedText("putMember") { request.writeMembers(to: &$0) }
        case .removeMember(let request):
            Self.storedText("removeMember") { request.writeMembers(to: &$0) }
        case .leave(let request):
            Self.storedText("leave") { request.writeMembers(to: &$0) }
        case .putUser(let request):
            Self.storedText("putUser") { writer in
                writer.field("user", request.user)
                request.change.writeMembers(to: &writer)
            }
        }
    }

    /// Reads a stored text of any version.
    ///
    /// - Parameter isMessage: Whether the row is a message to send. Only texts without a version need it.
    /// - Throws: `local-storage` for a text of a later version, or one that is no request of the outbox.
    init(storedText text: String, in conversation: ConversationID, isMessage: Bool) throws(ChatError) {
        var reader = JSONReader(text)
        let members = StoredTextReader(members: try JSONMembers(&reader))
        guard let version = try members.optional("version", { (value) throws(ChatError) in try value.integer() }) else {
            try self.init(unversioned: text, in: conversation, isMessage: isMessage)
            return
        }
        guard version == Self.formatVersion else {
            throw ChatError(
                .localStorage,
                "The outbox has a request of version \(version), but this SDK reads versions up to "
                    + "\(Self.formatVersion). Update the app.")
        }
        let kind = try members.text("request")
        switch kind {
        case "send": self = try Self.send(text, in: conversation)
        case "edit":
            self = .edit(
                EditMessage(
                    conversation: conversation, id: try members.message(), edit: try members.edit(),
                    operation: try members.operation()))
        case "delete":
            let ids = try members.required("messages") { (value) throws(ChatError) in
                try value.list("messages", limit: .max) { (id) throws(ChatError) in try id.messageID() }
            }
            let audience = try DeletionAudience(rawValue: members.text("audience")).required("audience")
            self = .delete(DeleteMessages(conversation: conversation, ids: ids, audience: audience))
        case "addAction":
            let action = ActionContent(type: try members.text("action"), value: try members.text("value"))
            self = .addAction(
                AddAction(
                    conversation: conversation, id: try members.message(), action: action,
                    operation: try members.operation()))
        case "removeAction":
            let time = try members.optional("timetoken") { (value) throws(ChatError) in try value.timetoken() }
            let action: ActionReference =
                if let time { .at(time) } else {
                    .own(type: try members.text("action"), value: try members.text("value"))
                }
            self = .removeAction(
                RemoveAction(
                    conversation: conversation, id: try members.message(), action: action,
                    operation: try members.operation()))
        case "clear":
            let seq = try members.required("seq") { (value) throws(ChatError) in try value.integer() }
            let epoch = try members.required("epoch") { (value) throws(ChatError) in try value.epoch() }
            self = .clear(ClearConversation(conversation: conversation, seq: seq, epoch: epoch))
        case "schedule":
            var reader = members.reader
            self = .schedule(try ScheduleMessage(from: &reader))
        case "changeThread":
            let isFollowed = try members.optional("followed") { (value) throws(ChatError) in try value.bool() }
            let seq = try members.optional("seq") { (value) throws(ChatError) in try value.integer() }
            let epoch = try members.optional("epoch") { (value) throws(ChatError) in try value.epoch() }
            var change = ThreadChange(isFollowed: isFollowed)
            if let seq, let epoch { change.read = EpochPosition(seq: seq, epoch: epoch) }
            self = .changeThread(
                ChangeThread(conversation: conversation, thread: try members.message(), change))
        case "putConversation":
            let exists = try members.optional("exists") { (value) throws(ChatError) in try value.bool() }
            var reader = members.reader
            self = .putConversation(
                PutConversation(
                    conversation: conversation.administered, settings: try ConversationSettings(from: &reader),
                    exists: exists, operation: try members.operation()))
        case "deleteConversation":
            self = .deleteConversation(DeleteConversation(conversation: conversation.administered))
        case "putMember":
            var reader = members.reader
            self = .putMember(try PutMember(from: &reader))
        case "removeMember":
            var reader = members.reader
            self = .removeMember(try RemoveMember(from: &reader))
        case "leave":
            var reader = members.reader
            self = .leave(try RemoveMember(from: &reader))
        case "putUser":
            let user = try members.required("user") { (value) throws(ChatError) in try value.user() }
            var reader = members.reader
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
private struct StoredTextReader {
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
