package import ScrollbackModel

/// A frame from the server to a client: one JSON object per WebSocket text frame.
package enum ServerFrame: Sendable {
    case welcome(Welcome)
    /// The answer to a request, undecoded because its members depend on the request.
    case result(ref: Int64, body: [UInt8])
    case error(ref: Int64?, ChatError)
    case event(ServerEvent)
    /// The server stops soon: the client must connect again, at a random moment in the next `within` milliseconds.
    case moving(within: Int)
    /// A frame of a type that this version does not know.
    case unknown(String)

    package struct Welcome: Sendable {
        package var user: UserID
        /// The interval, in seconds, in which the client must send a frame.
        package var heartbeat: Int
        package var limits: Limits
        /// The first part of the checkpoints of this connection.
        package var lineage: String?
        /// If the store went back since the client's checkpoint, the time after which messages may be lost.
        ///
        /// The client must then treat everything that it has stored as outdated.
        package var lostAfter: Timetoken?

        package init(
            user: UserID, heartbeat: Int, limits: Limits, lineage: String? = nil, lostAfter: Timetoken? = nil
        ) {
            self.user = user
            self.heartbeat = heartbeat
            self.limits = limits
            self.lineage = lineage
            self.lostAfter = lostAfter
        }
    }
}

/// The head of a log, for clients that don't receive every message.
package struct HeadUpdate: Hashable, Sendable {
    package var epoch: Epoch
    package var seq: Seq
    package var countedIndex: Int64
    package var rev: Int64
    /// The oldest available sequence number, if older messages were removed.
    package var firstSeq: Seq?
    /// The newest message in the list of recents, if there is a new one since the last event.
    package var last: Message?
    /// Whether the change may have altered which messages or mentions count as unread.
    package var altersCounts: Bool

    package init(
        epoch: Epoch, seq: Seq, countedIndex: Int64, rev: Int64, firstSeq: Seq? = nil, last: Message? = nil,
        altersCounts: Bool = false
    ) {
        self.epoch = epoch
        self.seq = seq
        self.countedIndex = countedIndex
        self.rev = rev
        self.firstSeq = firstSeq
        self.last = last
        self.altersCounts = altersCounts
    }
}

/// An event from the server.
package enum ServerEvent: Sendable {
    case message(Message)
    case transient(TransientMessage)
    case changed(ConversationID, Epoch, LogChange)
    /// The new head of a conversation to which the client is not subscribed.
    case head(ConversationID, HeadUpdate)
    /// Another device of the user hid messages from the user's view.
    case hidden(ConversationID, Epoch, [SeqRange])
    /// The user's own state in a conversation changed, possibly on another device.
    case read(ConversationID, ReadSummary)
    /// The user's own state in several conversations changed.
    case reads([(conversation: ConversationID, summary: ReadSummary)])
    /// The user's own state in a thread changed, possibly on another device.
    case thread(ConversationID, ThreadState)
    /// The user's draft in a conversation changed, possibly on another device.
    case draft(SyncedDraft)
    /// The read position of the other user in a direct conversation.
    case peerRead(ConversationID, UserID, Seq)
    /// The sequence number through which another member's devices have stored the messages.
    case delivered(ConversationID, UserID, Seq)
    case conversation(ConversationID, isDeleted: Bool)
    /// A user joined or has a new role; without a role, the user left.
    case member(ConversationID, UserID, Role?)
    /// A user started or stopped typing; the start is repeated every few seconds.
    case typing(ConversationID, UserID, isTyping: Bool)
    case user(UserProfile)
    /// The user was invited, possibly again.
    case invitation(Invitation)
    /// An invitation of the user ended: used, declined, revoked, or its conversation was deleted.
    case invitationEnded(ConversationID)
    /// The presence of a watched user changed.
    case presence(UserID, Presence)
    /// The client must fetch one conversation, or everything, again.
    case resync(ConversationID?)

    package var conversation: ConversationID? {
        switch self {
        case .message(let message): message.conversation
        case .transient(let message): message.conversation
        case .changed(let id, _, _), .head(let id, _), .hidden(let id, _, _), .read(let id, _),
            .peerRead(let id, _, _), .delivered(let id, _, _), .thread(let id, _),
            .conversation(let id, _), .member(let id, _, _), .typing(let id, _, _),
            .invitationEnded(let id):
            id
        case .invitation(let invitation): invitation.conversation
        case .draft(let draft): draft.conversation
        case .user, .reads, .presence: nil
        case .resync(let id): id
        }
    }
}

extension ServerFrame {
    package static func encodeWelcome(_ welcome: Welcome) -> [UInt8] {
        frame("welcome") { writer in
            writer.field("user", welcome.user)
            writer.field("heartbeat", welcome.heartbeat)
            writer.key("limits")
            writer.object { writer in
                writer.field("frameBytes", welcome.limits.frameBytes)
                writer.field("contentBytes", welcome.limits.contentBytes)
                writer.field("attributeBytes", welcome.limits.attributeBytes)
                writer.field("pageSize", welcome.limits.pageSize)
            }
            writer.field("lineage", welcome.lineage)
            writer.field("lostAfter", welcome.lostAfter)
        }
    }

    /// Encodes the request to connect again.
    ///
    /// - Parameter milliseconds: The time from which the client takes a random moment, at most 3,600,000.
    package static func encodeMoving(within milliseconds: Int) -> [UInt8] {
        frame("moving") { $0.field("within", milliseconds) }
    }

    /// - Parameter checkpoint: The checkpoint of a commit that is at least as new as the answer.
    package static func encodeResult(
        ref: Int64, checkpoint: String? = nil, _ members: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        frame("result") { writer in
            writer.field("ref", ref)
            writer.field("checkpoint", checkpoint)
            members(&writer)
        }
    }

    package static func encodeError(ref: Int64?, _ error: ChatError) -> [UInt8] {
        frame("error") { writer in
            writer.field("ref", ref)
            error.writeMembers(to: &writer)
            writer.field("status", error.status)
            writer.field("detail", error.message)
        }
    }

    static func frame(_ type: String, _ members: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter(reserving: 512)
        writer.object { writer in
            writer.field("type", type)
            members(&writer)
        }
        return writer.bytes
    }

    package static func decode(_ bytes: [UInt8]) throws(ChatError) -> ServerFrame {
        var checkpoint: String?
        return try decode(bytes, checkpoint: &checkpoint)
    }

    /// Decodes a frame.
    ///
    /// - Parameter checkpoint: The checkpoint that the frame carries, if any.
    package static func decode(_ bytes: [UInt8], checkpoint: inout String?) throws(ChatError) -> ServerFrame {
        var reader = try JSONReader(bytes)
        var type: String?
        var ref: Int64?
        var found: String?
        var first = reader
        try first.object { (name, value) throws(ChatError) in
            switch name {
            case "type": type = try value.string()
            case "ref": ref = try value.integer()
            case "checkpoint": found = try value.string()
            default: try value.skip()
            }
        }
        try first.end()
        checkpoint = found
        let name = try type.required("type")
        switch name {
        case "welcome": return .welcome(try Welcome(from: &reader))
        case "result": return .result(ref: try ref.required("ref"), body: bytes)
        case "error": return .error(ref: ref, try ChatError(problem: &reader))
        case "moving": return .moving(within: try decodeMoving(&reader))
        default:
            guard let event = try ServerEvent.decode(name, &reader) else { return .unknown(name) }
            return .event(event)
        }
    }

    private static func decodeMoving(_ reader: inout JSONReader) throws(ChatError) -> Int {
        var within: Int64?
        try reader.object { (name, value) throws(ChatError) in
            guard name == "within" else { return try value.skip() }
            within = try value.counter()
            guard (0...3_600_000).contains(within ?? 0) else { throw value.mismatch("in 0...3600000 milliseconds") }
        }
        return Int(try within.required("within"))
    }
}

extension ServerFrame.Welcome {
    init(from reader: inout JSONReader) throws(ChatError) {
        var user: UserID?
        var heartbeat = 30
        var limits = Limits.standard
        var lineage: String?
        var lostAfter: Timetoken?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "user": user = try value.user()
            case "heartbeat":
                heartbeat = Int(try value.counter())
                guard (1...86_400).contains(heartbeat) else { throw value.mismatch("in 1...86400 seconds") }
            case "lineage": lineage = try value.string()
            case "lostAfter": lostAfter = try value.timetoken()
            case "limits":
                try value.object { (name, value) throws(ChatError) in
                    switch name {
                    case "frameBytes": limits.frameBytes = Int(try value.counter())
                    case "contentBytes": limits.contentBytes = Int(try value.counter())
                    case "attributeBytes": limits.attributeBytes = Int(try value.counter())
                    case "pageSize": limits.pageSize = Int(try value.counter())
                    default: try value.skip()
                    }
                }
            default: try value.skip()
            }
        }
        self.init(
            user: try user.required("user"), heartbeat: heartbeat, limits: limits, lineage: lineage,
            lostAfter: lostAfter)
    }
}
