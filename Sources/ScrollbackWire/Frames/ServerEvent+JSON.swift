package import ScrollbackModel

extension ServerEvent {
    /// - Parameter checkpoint: The checkpoint of a commit that is at least as new as the event.
    package func encoded(checkpoint: String? = nil) -> [UInt8] {
        ServerFrame.frame(name) { writer in
            writer.field("checkpoint", checkpoint)
            writeMembers(to: &writer)
        }
    }

    private var name: String {
        switch self {
        case .message, .transient: "message"
        case .changed: "changed"
        case .head: "head"
        case .hidden: "hidden"
        case .read, .peerRead: "read"
        case .reads: "reads"
        case .delivered: "delivered"
        case .thread: "thread"
        case .draft: "draft"
        case .conversation: "conversation"
        case .member: "member"
        case .typing: "typing"
        case .user: "user"
        case .invitation, .invitationEnded: "invitation"
        case .presence: "presence"
        case .resync: "resync"
        }
    }

    private func writeMembers(to writer: inout JSONWriter) {
        if case .invitation(let invitation) = self { return invitation.writeMembers(to: &writer) }
        if case .draft(let draft) = self { return draft.writeMembers(to: &writer) }
        writer.field("conversation", conversation)
        switch self {
        case .message(let message):
            writer.key("message")
            message.write(to: &writer)
        case .transient(let message):
            writer.key("message")
            writer.object { message.writeMembers(to: &$0) }
        case .changed(_, let epoch, let change):
            writer.field("epoch", epoch)
            writer.key("change")
            change.write(to: &writer)
        case .head(_, let update):
            writer.field("epoch", update.epoch)
            writer.field("seq", update.seq)
            writer.field("n", update.countedIndex)
            writer.field("rev", update.rev)
            writer.field("firstSeq", update.firstSeq)
            if let last = update.last {
                writer.key("lastMessage")
                last.write(to: &writer)
            }
            if update.altersCounts { writer.field("altersCounts", true) }
        case .hidden(_, let epoch, let places):
            writer.field("epoch", epoch)
            writer.key("places")
            SeqRangeSet(places).write(to: &writer)
        case .read(_, let summary):
            summary.writeMembers(to: &writer)
        case .reads(let reads):
            writer.key("reads")
            writer.array(reads) { writer, read in
                ReadResult(conversation: read.conversation, result: .success(read.summary)).write(to: &writer)
            }
        case .thread(_, let state): state.writeMembers(to: &writer)
        case .peerRead(_, let user, let seq):
            writer.field("user", user)
            writer.field("readSeq", seq)
        case .delivered(_, let user, let seq):
            writer.field("user", user)
            writer.field("deliveredSeq", seq)
        case .conversation(_, let isDeleted):
            writer.field("deleted", isDeleted)
        case .member(_, let user, let role):
            writer.field("user", user)
            writer.field("role", role?.rawValue ?? "none")
        case .typing(_, let user, let isTyping):
            writer.field("user", user)
            writer.field("isTyping", isTyping)
        case .user(let profile):
            writer.key("profile")
            profile.write(to: &writer)
        case .invitationEnded: writer.field("ended", true)
        case .presence(let user, let presence): presence.writeMembers(of: user, to: &writer)
        case .resync, .invitation, .draft: break
        }
    }

    /// Decodes an event.
    ///
    /// - Returns: The event, or `nil` if this version does not know its type.
    static func decode(_ name: String, _ reader: inout JSONReader) throws(ChatError) -> ServerEvent? {
        guard
            [
                "message", "changed", "head", "hidden", "read", "reads", "delivered", "thread", "draft", "conversation",
                "member", "typing", "user", "invitation", "presence", "resync",
            ].contains(name)
        else { return nil }
        var whole = reader
        var fields = EventFields()
        try reader.object { (name, value) throws(ChatError) in try fields.read(name, &value) }
        func conversation() throws(ChatError) -> ConversationID { try fields.conversation.required("conversation") }
        switch name {
        case "message":
            let message = try fields.message.required("message")
            return message.isStored ? .message(try message.message()) : .transient(try message.transient())
        case "changed":
            return .changed(
                try conversation(), try fields.epoch.required("epoch"), try fields.change.required("change"))
        case "head":
            return .head(
                try conversation(),
                HeadUpdate(
                    epoch: try fields.epoch.required("epoch"), seq: try fields.seq.required("seq"),
                    countedIndex: try fields.countedIndex.required("n"), rev: try fields.rev.required("rev"),
                    firstSeq: fields.firstSeq,
                    last: fields.last, altersCounts: fields.altersCounts))
        case "hidden":
            return .hidden(
                try conversation(), try fields.epoch.required("epoch"), try fields.places.required("places").ranges)
        case "read":
            if let user = fields.user {
                return .peerRead(try conversation(), user, try fields.readSeq.required("readSeq"))
            }
            return .read(try conversation(), try ReadSummary(from: &whole))
        case "reads": return .reads(try fields.reads.required("reads"))
        case "delivered":
            return .delivered(
                try conversation(), try fields.user.required("user"),
                try fields.deliveredSeq.required("deliveredSeq"))
        case "draft": return .draft(try SyncedDraft(from: &whole))
        case "thread": return .thread(try conversation(), try ThreadState(from: &whole))
        case "conversation": return .conversation(try conversation(), isDeleted: fields.isDeleted)
        case "member":
            let role = try fields.role.required("role")
            // A role that this version does not know counts as member.
            return .member(
                try conversation(), try fields.user.required("user"),
                role == "none" ? nil : Role(rawValue: role) ?? .member)
        case "typing":
            return .typing(
                try conversation(), try fields.user.required("user"),
                isTyping: try fields.isTyping.required("isTyping"))
        case "user": return .user(try fields.profile.required("profile"))
        case "invitation":
            if fields.isEnded { return .invitationEnded(try conversation()) }
            return .invitation(try Invitation(from: &whole))
        case "presence":
            var presence = PresenceFields()
            try whole.object { (name, value) throws(ChatError) in
                if try !presence.read(name, &value) { try value.skip() }
            }
            let entry = try presence.entry()
            return .presence(entry.user, entry.presence)
        default: return .resync(fields.conversation)
        }
    }
}

private struct EventFields {
    var conversation: ConversationID?
    var message: MessageFields?
    var change: LogChange?
    var epoch: Epoch?
    var seq: Seq?
    var countedIndex: Int64?
    var rev: Int64?
    var firstSeq: Seq?
    var last: Message?
    var altersCounts = false
    var places: SeqRangeSet?
    var readSeq: Seq?
    var deliveredSeq: Seq?
    var user: UserID?
    var role: String?
    var isDeleted = false
    var reads: [(conversation: ConversationID, summary: ReadSummary)]?
    var isEnded = false
    var isTyping: Bool?
    var profile: UserProfile?

    mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) {
        switch name {
        case "conversation": conversation = try value.conversation()
        case "message":
            var message = MessageFields()
            try value.object { (name, value) throws(ChatError) in try message.read(name, &value) }
            self.message = message
        case "change": change = try LogChange(from: &value)
        case "epoch": epoch = try value.epoch()
        case "seq": seq = try value.counter()
        case "n": countedIndex = try value.counter()
        case "rev": rev = try value.counter()
        case "firstSeq": firstSeq = try value.counter()
        case "lastMessage": last = try Message(from: &value)
        case "altersCounts": altersCounts = try value.bool()
        case "places": places = try SeqRangeSet(from: &value)
        case "readSeq": readSeq = try value.counter()
        case "deliveredSeq": deliveredSeq = try value.counter()
        case "reads":
            reads = try value.list("reads", limit: ReadMark.maximum) { (read) throws(ChatError) in
                let answer = try ReadResult(from: &read)
                return (conversation: answer.conversation, summary: try answer.result.get())
            }
        case "user": user = try value.user()
        case "role": role = try value.string()
        case "isTyping": isTyping = try value.bool()
        case "ended": isEnded = try value.bool()
        case "deleted": isDeleted = try value.bool()
        case "profile": profile = try UserProfile(from: &value)
        default: try value.skip()
        }
    }
}

extension UserProfile: ListElement {
    package static let listName = "users"
    package static let schema = JSONSchema.component("Profile")

    package func write(to writer: inout JSONWriter) {
        writer.object { writeMembers(to: &$0) }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("user", id)
        writer.field("name", name)
        writer.field("avatar", avatar)
        writer.field("metadata", metadata)
    }

    /// Reads a user profile.
    ///
    /// - Throws: `invalid-parameter` if a member is out of range.
    package init(from reader: inout JSONReader) throws(ChatError) {
        var user: UserID?
        var fields = ProfileFields()
        try reader.object { (name, value) throws(ChatError) in
            if name == "user" {
                user = try value.user()
            } else if try !fields.read(name, &value) {
                try value.skip()
            }
        }
        self.init(
            id: try user.required("user"), name: fields.name, avatar: fields.avatar, metadata: fields.metadata)
    }
}

extension JSONReader {
    /// Reads the users whose profiles are requested.
    package mutating func users() throws(ChatError) -> [UserID] {
        try list("users", limit: FetchUsers.maximum) { (user) throws(ChatError) in try user.user("users") }
    }
}

extension [UserProfile] {
    package func writeMembers(to writer: inout JSONWriter) {
        writer.key("users")
        writer.array(self) { $1.write(to: &$0) }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var profiles: [UserProfile]?
        try reader.object { (name, value) throws(ChatError) in
            guard name == "users" else { return try value.skip() }
            profiles = try value.list("users", limit: FetchUsers.maximum) { (profile) throws(ChatError) in
                try UserProfile(from: &profile)
            }
        }
        self = try profiles.required("users")
    }
}

/// The parsed members of a profile.
package struct ProfileFields {
    package var name: String?
    package var avatar: String?
    package var metadata: RawJSON?

    package init() {}

    package mutating func read(_ field: String, _ value: inout JSONReader) throws(ChatError) -> Bool {
        switch field {
        case "name": name = try value.null() ? nil : value.text("name", 128)
        case "avatar": avatar = try value.null() ? nil : value.text("avatar", 2048)
        case "metadata":
            if try value.null() { return true }
            let json = try value.raw()
            guard json.isObject else { throw .invalidParameter("metadata", "must be a JSON object") }
            metadata = json
        default: return false
        }
        return true
    }
}

extension JSONReader {
    /// Reads a string of at most `limit` bytes of UTF-8.
    package mutating func text(_ parameter: String, _ limit: Int) throws(ChatError) -> String {
        let text = try string()
        guard text.utf8.count <= limit else {
            throw .invalidParameter(parameter, "must be at most \(limit) bytes of UTF-8", limit: limit)
        }
        return text
    }
}
