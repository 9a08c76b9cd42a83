import Foundation
import ScrollbackModel
import ScrollbackWire

/// The JSON form of events in the notes of commits.
///
/// Conversations have their absolute names.
extension Event {
    /// Whether other nodes need the event; the others are only for webhooks.
    var concernsOtherNodes: Bool {
        switch self {
        case .reported, .acted, .moderated: false
        default: true
        }
    }

    private var name: String {
        switch self {
        case .message: "message"
        case .changed: "changed"
        case .hidden: "hidden"
        case .visibilityReduced: "visibilityReduced"
        case .headChanged: "headChanged"
        case .transient: "transient"
        case .ownStateChanged: "read"
        case .ownStatesChanged: "reads"
        case .delivered: "delivered"
        case .thread: "thread"
        case .draft: "draft"
        case .joined: "joined"
        case .left: "left"
        case .conversationChanged: "conversationChanged"
        case .memberStateChanged: "memberStateChanged"
        case .conversationDeleted: "conversationDeleted"
        case .madePrivate: "madePrivate"
        case .userChanged: "userChanged"
        case .invited: "invited"
        case .invitationEnded: "invitationEnded"
        case .tokensRevoked: "tokensRevoked"
        case .accessRevoked: "accessRevoked"
        case .banned: "banned"
        case .incarnationBegan: "incarnationBegan"
        case .settingsChanged: "settingsChanged"
        case .scheduled: "scheduled"
        case .erasureBegan: "erasureBegan"
        case .erasureEnded: "erasureEnded"
        case .reported, .acted, .moderated: "none"
        }
    }

    func writeMembers(to writer: inout JSONWriter) {
        writer.field("event", name)
        switch self {
        case .message(let message, let notifiesCommunity, _):
            writer.key("message")
            message.write(to: &writer)
            writer.field("notifiesCommunity", notifiesCommunity)
        case .changed(let id, let change, let head, let notifiesCommunity):
            writer.field("conversation", id)
            writer.key("change")
            change.write(to: &writer)
            writer.key("head")
            head.write(to: &writer)
            writer.field("notifiesCommunity", notifiesCommunity)
        case .hidden(let places, let event):
            writer.key("places")
            SeqRangeSet(places).write(to: &writer)
            writer.key("reads")
            writer.array([event]) { $1.write(to: &$0) }
        case .visibilityReduced(let id, let head):
            writer.field("conversation", id)
            writer.field("seq", head)
        case .headChanged(let id, let head, let notifiesCommunity):
            writer.field("conversation", id)
            writer.key("head")
            head.write(to: &writer)
            writer.field("notifiesCommunity", notifiesCommunity)
        case .transient(let message, _):
            writer.key("message")
            writer.object { message.writeMembers(to: &$0) }
        case .ownStateChanged(let event):
            writer.key("reads")
            writer.array([event]) { $1.write(to: &$0) }
        case .ownStatesChanged(let events):
            writer.key("reads")
            writer.array(events) { $1.write(to: &$0) }
        case .delivered(let id, let user, let seq):
            writer.field("conversation", id)
            writer.field("user", user)
            writer.field("seq", seq)
        case .thread(let id, let user, let state):
            writer.field("conversation", id)
            writer.field("user", user)
            writer.key("state")
            writer.object { state.writeMembers(to: &$0) }
        case .draft(let draft, let user):
            writer.field("user", user)
            writer.key("draft")
            writer.object { draft.writeMembers(to: &$0) }
        case .joined(let id, let user, let role, let seq):
            writer.field("conversation", id)
            writer.field("user", user)
            writer.field("role", role.rawValue)
            writer.field("seq", seq)
        case .left(let id, let user), .memberStateChanged(let id, let user), .invitationEnded(let id, let user),
            .banned(let id, let user):
            writer.field("conversation", id)
            writer.field("user", user)
        case .conversationChanged(let id), .conversationDeleted(let id): writer.field("conversation", id)
        case .madePrivate(let id, let members):
            writer.field("conversation", id)
            writer.key("members")
            writer.array(members.sorted { $0.key < $1.key }) { writer, member in
                writer.object { writer in
                    writer.field("user", member.key)
                    writer.field("seq", member.value)
                }
            }
        case .userChanged(let profile):
            writer.key("profile")
            profile.write(to: &writer)
        case .invited(let invitation):
            writer.key("invitation")
            invitation.write(to: &writer)
        case .tokensRevoked(let user), .erasureBegan(let user), .erasureEnded(let user): writer.field("user", user)
        case .accessRevoked(let user, let error):
            writer.field("user", user)
            writer.key("error")
            error.writeProblem(to: &writer)
        case .incarnationBegan(let row, let rollback):
            writer.key("incarnation")
            row.write(to: &writer)
            if let rollback {
                writer.key("rollback")
                rollback.write(to: &writer)
            }
        case .settingsChanged(let settings):
            writer.key("settings")
            writer.object { settings.writeMembers(to: &$0, withSecrets: true) }
        case .scheduled(let date): writer.field("date", date)
        case .reported, .acted, .moderated: break
        }
    }

    /// Reads an event.
    ///
    /// - Returns: `nil` if this version does not know the event.
    init?(from reader: inout JSONReader) throws(ChatError) {
        var fields = EventFields()
        try reader.object { (name, value) throws(ChatError) in try fields.read(name, &value) }
        guard let event = try fields.event() else { return nil }
        self = event
    }
}

/// The parsed members of an event.
private struct EventFields {
    private var name = ""
    private var conversation: ConversationID?
    private var user: UserID?
    private var seq: Seq?
    private var members: [UserID: Seq] = [:]
    private var notifiesCommunity = false
    private var message = MessageFields()
    private var change: LogChange?
    private var head: HeadAnnouncement?
    private var places: [SeqRange] = []
    private var reads: [OwnStateChange] = []
    private var state: ThreadState?
    private var draft: SyncedDraft?
    private var role: Role?
    private var profile: UserProfile?
    private var invitation: Invitation?
    private var error: ChatError?
    private var incarnation: IncarnationRow?
    private var rollback: Checkpoints.Rollback?
    private var settings: ServerSettings?
    private var date: Date?

    mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) {
        switch name {
        case "event": self.name = try value.string()
        case "conversation": conversation = try value.conversation()
        case "user": user = UserID(known: try value.string())
        // The position of a member of a community is a time, which has more bits than a sequence number.
        case "seq": seq = try value.integer()
        case "members":
            try value.array { (value) throws(ChatError) in
                let (user, seq) = try Self.member(&value)
                members[user] = seq
            }
        case "notifiesCommunity": notifiesCommunity = try value.bool()
        case "message":
            try value.object { (name, value) throws(ChatError) in try message.read(name, &value) }
        case "change": change = try LogChange(from: &value)
        case "head": head = try HeadAnnouncement(from: &value)
        case "places": places = try SeqRangeSet(from: &value).ranges
        case "reads":
            try value.array { (value) throws(ChatError) in reads.append(try OwnStateChange(from: &value)) }
        case "state": state = try ThreadState(from: &value)
        case "draft": draft = try SyncedDraft(from: &value)
        case "role": role = Role(rawValue: try value.string())
        case "profile": profile = try UserProfile(from: &value)
        case "invitation": invitation = try Invitation(from: &value)
        case "error": error = try ChatError(problem: &value)
        case "incarnation": incarnation = try IncarnationRow(from: &value)
        case "rollback": rollback = try Checkpoints.Rollback(from: &value)
        case "settings": settings = try ServerSettings(from: &value)
        case "date": date = try value.date("date")
        default: try value.skip()
        }
    }

    private static func member(_ reader: inout JSONReader) throws(ChatError) -> (user: UserID, seq: Seq) {
        var user: UserID?
        var seq: Seq?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "user": user = UserID(known: try value.string())
            case "seq": seq = try value.integer()
            default: try value.skip()
            }
        }
        return (try user.required("user"), try seq.required("seq"))
    }

    func event() throws(ChatError) -> Event? {
        func id() throws(ChatError) -> ConversationID { try conversation.required("conversation") }
        func person() throws(ChatError) -> UserID { try user.required("user") }
        return switch name {
        case "message": .message(try message.message(), notifiesCommunity: notifiesCommunity, origin: nil)
        case "changed":
            .changed(
                try id(), try change.required("change"), try head.required("head"),
                notifiesCommunity: notifiesCommunity)
        case "hidden": .hidden(places, try reads.first.required("reads"))
        case "visibilityReduced": .visibilityReduced(try id(), head: try seq.required("seq"))
        case "headChanged":
            .headChanged(try id(), try head.required("head"), notifiesCommunity: notifiesCommunity)
        case "transient": .transient(try message.transient(), origin: nil)
        case "read": .ownStateChanged(try reads.first.required("reads"))
        case "reads": .ownStatesChanged(reads)
        case "delivered": .delivered(try id(), try person(), try seq.required("seq"))
        case "thread": .thread(try id(), try person(), try state.required("state"))
        case "draft": .draft(try draft.required("draft"), try person())
        case "joined":
            .joined(try id(), try person(), role ?? .member, fullyVisibleAfter: try seq.required("seq"))
        case "left": .left(try id(), try person())
        case "conversationChanged": .conversationChanged(try id())
        case "memberStateChanged": .memberStateChanged(try id(), try person())
        case "conversationDeleted": .conversationDeleted(try id())
        case "madePrivate": .madePrivate(try id(), members: members)
        case "userChanged": .userChanged(try profile.required("profile"))
        case "invited": .invited(try invitation.required("invitation"))
        case "invitationEnded": .invitationEnded(try id(), try person())
        case "tokensRevoked": .tokensRevoked(try person())
        case "accessRevoked": .accessRevoked(try person(), try error.required("error"))
        case "banned": .banned(try id(), try person())
        case "incarnationBegan": .incarnationBegan(try incarnation.required("incarnation"), after: rollback)
        case "settingsChanged": .settingsChanged(try settings.required("settings"))
        case "scheduled": .scheduled(try date.required("date"))
        case "erasureBegan": .erasureBegan(try person())
        case "erasureEnded": .erasureEnded(try person())
        default: nil
        }
    }
}

extension HeadAnnouncement {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("epoch", epoch)
            writer.field("seq", seq)
            writer.field("n", countedIndex)
            writer.field("rev", rev)
            writer.field("firstSeq", firstSeq)
        }
    }

    /// Reads the head of a log as an operation publishes it.
    ///
    /// The hub adds the rest when it delivers the event.
    fileprivate init(from reader: inout JSONReader) throws(ChatError) {
        var epoch: Epoch?
        var numbers: [String: Int64] = [:]
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "epoch": epoch = try value.epoch()
            case "seq", "n", "rev", "firstSeq": numbers[name] = try value.counter()
            default: try value.skip()
            }
        }
        self.init(
            epoch: try epoch.required("epoch"), seq: try numbers["seq"].required("seq"),
            countedIndex: try numbers["n"].required("n"), rev: try numbers["rev"].required("rev"),
            firstSeq: numbers["firstSeq"])
    }
}

extension OwnStateChange {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("conversation", conversation)
            writer.field("user", user)
            writer.field("receipt", receipt)
            writer.key("summary")
            writer.object { summary.writeMembers(to: &$0) }
        }
    }

    fileprivate init(from reader: inout JSONReader) throws(ChatError) {
        var conversation: ConversationID?
        var user: UserID?
        var receipt: Seq?
        var summary: ReadSummary?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "conversation": conversation = try value.conversation()
            case "user": user = UserID(known: try value.string())
            case "receipt": receipt = try value.counter()
            case "summary": summary = try ReadSummary(from: &value)
            default: try value.skip()
            }
        }
        self.init(
            conversation: try conversation.required("conversation"), user: try user.required("user"),
            summary: try summary.required("summary"), receipt: receipt)
    }
}

extension IncarnationRow {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("id", id)
            writer.field("generation", Epoch(rawValue: generation))
            writer.field("firstCommit", firstCommit)
            writer.field("newest", newest)
            writer.field("lostAfter", lostAfter)
        }
    }

    fileprivate init(from reader: inout JSONReader) throws(ChatError) {
        var id: MessageID?
        var generation: Epoch?
        var firstCommit: Int64?
        var newest: Timetoken?
        var lostAfter: Timetoken?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "id": id = try value.messageID()
            case "generation": generation = try value.epoch()
            case "firstCommit": firstCommit = try value.integer()
            case "newest": newest = try value.timetoken()
            case "lostAfter": lostAfter = try value.timetoken()
            default: try value.skip()
            }
        }
        self.init(
            id: try id.required("id"), generation: try generation.required("generation").rawValue,
            firstCommit: try firstCommit.required("firstCommit"), newest: try newest.required("newest"),
            lostAfter: lostAfter)
    }
}

extension Checkpoints.Rollback {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("generation", Epoch(rawValue: generation))
            writer.field("seenIncarnation", seenIncarnation)
            writer.field("seenCommit", seenCommit)
            writer.field("lastCommit", lastCommit)
            writer.field("lostAfter", lostAfter)
        }
    }

    fileprivate init(from reader: inout JSONReader) throws(ChatError) {
        var generation: Epoch?
        var seenIncarnation: MessageID?
        var numbers: [String: Int64] = [:]
        var lostAfter: Timetoken?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "generation": generation = try value.epoch()
            case "seenIncarnation": seenIncarnation = try value.messageID()
            case "seenCommit", "lastCommit": numbers[name] = try value.integer()
            case "lostAfter": lostAfter = try value.timetoken()
            default: try value.skip()
            }
        }
        self.init(
            generation: try generation.required("generation").rawValue,
            seenIncarnation: try seenIncarnation.required("seenIncarnation"),
            seenCommit: try numbers["seenCommit"].required("seenCommit"),
            lastCommit: try numbers["lastCommit"].required("lastCommit"),
            lostAfter: try lostAfter.required("lostAfter"))
    }
}
