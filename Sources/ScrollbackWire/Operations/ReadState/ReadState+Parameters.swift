package import ScrollbackModel

extension NotificationLevel: ChoiceParameterValue {
    package static let schema = JSONSchema.component("NotificationLevel")
}

extension ReadSummary: DecodableAnswer {
    package static let schema: JSONSchema? = .component("ReadSummary")
}

/// An operation that changes the caller's own state in one conversation.
package protocol StateOperation: ClientOperation where Answer == ReadSummary {
    var conversation: ConversationID { get }
    var change: StateChange { get }
}

extension StateOperation {
    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        change.writeMembers(to: &writer)
    }
}

extension StateChange {
    /// The operation that makes this change in a conversation.
    package func operation(in conversation: ConversationID) -> any ClientOperation {
        switch self {
        case .read(let seq, let epoch, let userRev):
            MarkRead(conversation: conversation, seq: seq, epoch: epoch, userRev: userRev)
        case .markUnread: MarkUnread(conversation: conversation)
        case .settings(let isMuted, let isPinned):
            SetOwnSettings(conversation: conversation, isMuted: isMuted, isPinned: isPinned)
        case .notifications(let level): SetNotifications(conversation: conversation, level: level)
        case .removeRecent(let position, let excludesFromNewDevices):
            RemoveRecent(conversation: conversation, at: position, excludesFromNewDevices: excludesFromNewDevices)
        case .addRecent: AddRecent(conversation: conversation)
        case .excludeFromNewDevices(let position): ExcludeFromNewDevices(conversation: conversation, at: position)
        }
    }

    /// Reads the parameters of a change.
    ///
    /// - Parameter type: The `type` of the WebSocket request that makes the change.
    init(_ type: String, from request: inout RequestReader) throws(ChatError) {
        switch type {
        case "read":
            let seq = try request.required("seq", .seq, example: "12", "The read position, at most the newest place.") {
                (value) throws(ChatError) in try value.nonnegativeInteger()
            }
            let epoch: Epoch = try request.required("epoch", "The epoch of the log that `seq` belongs to.")
            let userRev: Int64? = try request.optional(
                "userRev",
                """
                The newest `userRev` that the client knows. A mark as unread that was set after it stays. Without it, \
                the request removes any mark as unread.
                """)
            self = .read(seq: seq, epoch: epoch, userRev: userRev)
        case "markUnread": self = .markUnread
        case "settings":
            let isMuted: Bool? = try request.optional(
                "muted", "Whether the conversation's messages are not pushed. They are counted in either case.")
            let isPinned: Bool? = try request.optional(
                "pinned", "Whether the conversation stands before the others in the caller's list.")
            guard isMuted != nil || isPinned != nil else {
                throw .invalidParameter("muted", "is missing: give muted, pinned or both")
            }
            self = .settings(isMuted: isMuted, isPinned: isPinned)
        case "notifications":
            self = .notifications(
                try request.optional(
                    "notifications", "Which messages are pushed. If it is missing or `null`, your default applies."))
        case "removeRecent":
            let position = try request.epochPosition()
            let excludesFromNewDevices = try request.flag(
                "stopRoaming", "Whether new devices also skip the messages up to this place. The default is false.")
            self = .removeRecent(at: position, excludesFromNewDevices: excludesFromNewDevices)
        case "addRecent": self = .addRecent
        case "stopRoaming": self = .excludeFromNewDevices(at: try request.epochPosition())
        default: throw ChatError(.unknownOperation, "There is no request \"\(type)\".", parameter: "type")
        }
    }
}

extension JSONSchema {
    fileprivate static let seq = JSONSchema.integer(0...Int.max)
}

extension RequestReader {
    /// Reads a position in a log, which only WebSocket requests have, or `nil` for the newest position.
    fileprivate mutating func epochPosition() throws(ChatError) -> EpochPosition? {
        let seq = try omittable("seq", .seq, example: "12", on: .webSocket, "The place. The default is the newest one.")
        {
            (value) throws(ChatError) in try value.nonnegativeInteger()
        }
        let epoch = try omittable(
            "epoch", Epoch.schema, example: Epoch.example, on: .webSocket, "The epoch of the log that `seq` belongs to."
        ) { (value) throws(ChatError) in try value.epoch() }
        if seq == nil, epoch == nil { return nil }
        return EpochPosition(seq: try seq.required("seq"), epoch: try epoch.required("epoch"))
    }

    /// Reads a flag that stands in the query over HTTP.
    ///
    /// It is false when it is missing, and never `null`.
    fileprivate mutating func flag(_ name: String, _ description: String) throws(ChatError) -> Bool {
        let inQuery: Bool? = try optional(name, on: .http, description)
        let inFrame = try omittable(name, .boolean, example: "true", on: .webSocket, description) {
            (value) throws(ChatError) in try value.bool()
        }
        return inQuery ?? inFrame ?? false
    }
}
