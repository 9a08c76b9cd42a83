package import ScrollbackModel

/// What a server sends over the WebSocket, one JSON object a text frame.
package enum ServerFrame: Sendable {
    case welcome(Welcome)
    /// The answer to a request; what its members mean depends on the request, so they stay as they came.
    case result(ref: Int64, body: [UInt8])
    case error(ref: Int64?, ChatError)
    case event(ServerEvent)
    /// A type this version does not know.
    case unknown(String)

    package struct Welcome: Sendable {
        package var user: UserID
        /// How often, in seconds, the device should be heard of.
        package var heartbeat: Int
        package var limits: Limits

        package init(user: UserID, heartbeat: Int, limits: Limits) {
            self.user = user
            self.heartbeat = heartbeat
            self.limits = limits
        }
    }
}

/// Where a log stands, for who does not hear all of it.
package struct LogNews: Hashable, Sendable {
    package var epoch: Epoch
    package var seq: Seq
    package var n: Int64
    package var rev: Int64
    /// The oldest place there is, where older ones went.
    package var floor: Seq?
    /// The newest message that the list of recents shows, where one came since the last news.
    package var last: Message?
    /// Whether messages or mentions counted before may count no more, or the other way round.
    package var altersCounts: Bool

    package init(
        epoch: Epoch, seq: Seq, n: Int64, rev: Int64, floor: Seq? = nil, last: Message? = nil,
        altersCounts: Bool = false
    ) {
        self.epoch = epoch
        self.seq = seq
        self.n = n
        self.rev = rev
        self.floor = floor
        self.last = last
        self.altersCounts = altersCounts
    }
}

/// Something that happened.
package enum ServerEvent: Sendable {
    case message(Message)
    case transient(TransientMessage)
    case changed(ConversationID, Epoch, LogChange)
    /// A conversation moved on that this device does not hear in full.
    case head(ConversationID, LogNews)
    /// Another device of mine took places out of my view.
    case hidden(ConversationID, Epoch, [SeqRange])
    /// Something of my own that I changed, perhaps on another device.
    case read(ConversationID, ReadSummary)
    /// The same of several conversations at once.
    case reads([(conversation: ConversationID, summary: ReadSummary)])
    /// A peer's read position in a direct conversation.
    case peerRead(ConversationID, UserID, Seq)
    case conversation(ConversationID, isDeleted: Bool)
    /// Somebody joined or changed their role; without a role, somebody left.
    case member(ConversationID, UserID, Role?)
    /// Somebody began or stopped to write something; who goes on says so again within a few seconds.
    case typing(ConversationID, UserID, isTyping: Bool)
    case user(UserProfile)
    /// I was invited, or was so again.
    case invitation(Invitation)
    /// An invitation of mine is none any more: used, declined, taken back, or its conversation is gone.
    case invitationEnded(ConversationID)
    /// Somebody I asked about came, or went.
    case presence(UserID, Presence)
    /// Ask again: everything, or one conversation.
    case resync(ConversationID?)

    package var conversation: ConversationID? {
        switch self {
        case .message(let message): message.conversation
        case .transient(let message): message.conversation
        case .changed(let id, _, _), .head(let id, _), .hidden(let id, _, _), .read(let id, _),
            .peerRead(let id, _, _),
            .conversation(let id, _), .member(let id, _, _), .typing(let id, _, _),
            .invitationEnded(let id):
            id
        case .invitation(let invitation): invitation.conversation
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
        }
    }

    package static func encodeResult(ref: Int64, _ members: (inout JSONWriter) -> Void) -> [UInt8] {
        frame("result") { writer in
            writer.field("ref", ref)
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
        var reader = try JSONReader(bytes)
        var type: String?
        var ref: Int64?
        var first = reader
        try first.object { (name, value) throws(ChatError) in
            switch name {
            case "type": type = try value.string()
            case "ref": ref = try value.integer()
            default: try value.skip()
            }
        }
        try first.end()
        let name = try type.required("type")
        switch name {
        case "welcome": return .welcome(try Welcome(from: &reader))
        case "result": return .result(ref: try ref.required("ref"), body: bytes)
        case "error": return .error(ref: ref, try ChatError(problem: &reader))
        default:
            guard let event = try ServerEvent.decode(name, &reader) else { return .unknown(name) }
            return .event(event)
        }
    }
}

extension ServerFrame.Welcome {
    init(from reader: inout JSONReader) throws(ChatError) {
        var user: UserID?
        var heartbeat = 30
        var limits = Limits.standard
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "user": user = try value.user()
            case "heartbeat": heartbeat = Int(try value.integer())
            case "limits":
                try value.object { (name, value) throws(ChatError) in
                    switch name {
                    case "frameBytes": limits.frameBytes = Int(try value.integer())
                    case "contentBytes": limits.contentBytes = Int(try value.integer())
                    case "attributeBytes": limits.attributeBytes = Int(try value.integer())
                    case "pageSize": limits.pageSize = Int(try value.integer())
                    default: try value.skip()
                    }
                }
            default: try value.skip()
            }
        }
        self.init(user: try user.required("user"), heartbeat: heartbeat, limits: limits)
    }
}
