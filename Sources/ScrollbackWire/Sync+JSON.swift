package import ScrollbackModel

extension ConversationHead {
    /// Writes the head as an entry of the list of recents.
    package func write(to writer: inout JSONWriter) {
        writer.object { writeMembers(to: &$0) }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("conversation", conversation)
        writer.field("name", name)
        writer.field("avatar", avatar)
        writer.field("unread", unread)
        writer.field("mentions", mentions)
        state.writeMembers(to: &writer)
        writer.field("readSeq", readSeq)
        if peerReadSeq > 0 { writer.field("peerReadSeq", peerReadSeq) }
        if peerDeliveredSeq > peerReadSeq { writer.field("peerDeliveredSeq", peerDeliveredSeq) }
        if hasDeliveryReceipts { writer.field("deliveryReceipts", true) }
        if let lastMessage {
            writer.key("lastMessage")
            lastMessage.write(to: &writer)
        }
        writer.field("muted", isMuted)
        writer.field("notifications", notifications?.rawValue)
        writer.field("pinned", isPinned)
        writer.field("markedUnread", isMarkedUnread)
        if removedSeq > 0 { writer.field("removedSeq", removedSeq) }
        if newDeviceFloor > 0 { writer.field("roamSeq", newDeviceFloor) }
        writer.field("recentTime", recentTime)
        writer.field("member", isMember)
        if lastCommit > 0 { writer.field("moved", lastCommit) }
        if isFrozen { writer.field("frozen", true) }
        mute?.writeMember(to: &writer)
        writer.field("userRev", userRev)
        if !hidden.isEmpty {
            writer.key("hidden")
            SeqRangeSet(hidden).write(to: &writer)
        }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var state = LogHeadFields()
        var hidden = SeqRangeSet()
        var conversation: ConversationID?
        var name: String?
        var avatar: String?
        var unread: Int64 = 0
        var mentions: Int64 = 0
        var readSeq: Seq = 0
        var peerReadSeq: Seq = 0
        var peerDeliveredSeq: Seq = 0
        var hasDeliveryReceipts = false
        var lastMessage: Message?
        var isMuted = false
        var notifications: NotificationLevel?
        var isPinned = false
        var isMarkedUnread = false
        var removedSeq: Seq = 0
        var newDeviceFloor: Seq = 0
        var recentTime: Timetoken?
        var isMember = true
        var lastCommit: Int64 = 0
        var isFrozen = false
        var mute: Mute?
        var userRev: Int64 = 0
        try reader.object { (field, value) throws(ChatError) in
            switch field {
            case "conversation": conversation = try value.conversation()
            case "name": name = try value.string()
            case "avatar": avatar = try value.string()
            case "unread": unread = try value.counter()
            case "mentions": mentions = try value.counter()
            case "readSeq": readSeq = try value.counter()
            case "peerReadSeq": peerReadSeq = try value.counter()
            case "peerDeliveredSeq": peerDeliveredSeq = try value.counter()
            case "deliveryReceipts": hasDeliveryReceipts = try value.bool()
            case "lastMessage": lastMessage = try Message(from: &value)
            case "muted": isMuted = try value.bool()
            case "notifications": notifications = NotificationLevel(rawValue: try value.string())
            case "pinned": isPinned = try value.bool()
            case "markedUnread": isMarkedUnread = try value.bool()
            case "removedSeq": removedSeq = try value.counter()
            case "roamSeq": newDeviceFloor = try value.counter()
            case "recentTime": recentTime = try value.timetoken("recentTime")
            case "member": isMember = try value.bool()
            case "moved": lastCommit = try value.counter()
            case "frozen": isFrozen = try value.bool()
            case "mutedUntil": mute = try Mute(from: &value)
            case "userRev": userRev = try value.counter()
            case "hidden": hidden = try SeqRangeSet(from: &value)
            default: if try !state.read(field, &value) { try value.skip() }
            }
        }
        self.init(
            conversation: try conversation.required("conversation"), name: name, avatar: avatar,
            state: try state.state(), unread: unread, mentions: mentions, readSeq: readSeq, lastMessage: lastMessage,
            isMuted: isMuted, notifications: notifications, isPinned: isPinned, isMarkedUnread: isMarkedUnread,
            removedSeq: removedSeq, newDeviceFloor: newDeviceFloor, recentTime: recentTime, isMember: isMember,
            lastCommit: lastCommit,
            userRev: userRev,
            hidden: hidden.ranges, isFrozen: isFrozen, mute: mute, peerReadSeq: peerReadSeq,
            peerDeliveredSeq: peerDeliveredSeq, hasDeliveryReceipts: hasDeliveryReceipts)
    }
}

extension LogPosition {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("conversation", conversation)
            writer.field("epoch", epoch)
            writer.field("view", view)
            writer.field("seq", seq)
            writer.field("rev", rev)
        }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var conversation: ConversationID?
        var epoch: Epoch?
        var view: Int64 = 0
        var seq: Seq?
        var rev: Int64 = 0
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "conversation": conversation = try value.conversation()
            case "epoch": epoch = try value.epoch()
            case "view": view = try value.nonnegativeInteger()
            case "seq": seq = try value.nonnegativeInteger()
            case "rev": rev = try value.nonnegativeInteger()
            default: try value.skip()
            }
        }
        self.init(
            conversation: try conversation.required("conversation"), epoch: try epoch.required("epoch"), view: view,
            seq: try seq.required("seq"), rev: rev)
    }
}

extension LogChange {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("rev", rev)
            switch self {
            case .message(let message):
                writer.key("message")
                message.write(to: &writer)
            case .removed(let range, _):
                writer.key("removed")
                SeqRangeSet([range]).write(to: &writer)
            case .invisible: break
            }
        }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var rev: Int64?
        var message: Message?
        var removed: SeqRange?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "rev": rev = try value.integer()
            case "message": message = try Message(from: &value)
            case "removed": removed = try SeqRangeSet(from: &value).ranges.first
            default: try value.skip()
            }
        }
        if let message {
            self = .message(message)
        } else if let removed {
            self = .removed(removed, rev: try rev.required("rev"))
        } else {
            self = .invisible(rev: try rev.required("rev"))
        }
    }
}

extension LogSync {
    package func writeMembers(to writer: inout JSONWriter) {
        page.writeMembers(to: &writer)
        writer.key("changes")
        writer.array(changes) { $1.write(to: &$0) }
        writer.field("changedThrough", changedThrough)
        if mustRefetch { writer.field("mustRefetch", true) }
    }
}

/// The answer of `sync` for one conversation.
package struct LogSyncResult: Sendable {
    package var conversation: ConversationID
    package var result: Result<LogSync, ChatError>

    package init(conversation: ConversationID, result: Result<LogSync, ChatError>) {
        self.conversation = conversation
        self.result = result
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("conversation", conversation)
            switch result {
            case .success(let sync): sync.writeMembers(to: &writer)
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
        var changes: [LogChange] = []
        var changedThrough: Int64 = 0
        var mustRefetch = false
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "conversation": conversation = try value.conversation()
            case "error": error = try ChatError(problem: &value)
            case "changes":
                changes = try value.list("changes", limit: 5_000) { (change) throws(ChatError) in
                    try LogChange(from: &change)
                }
            case "changedThrough": changedThrough = try value.counter()
            case "mustRefetch": mustRefetch = try value.bool()
            default: if try !page.read(name, &value) { try value.skip() }
            }
        }
        self.conversation = try conversation.required("conversation")
        if let error {
            result = .failure(error)
        } else {
            result = .success(
                LogSync(
                    page: try page.page(), changes: changes, changedThrough: changedThrough, mustRefetch: mustRefetch))
        }
    }
}

/// A window of conversation heads that changed since a cursor, newest activity first.
package struct HeadWindow: Sendable {
    package var heads: [ConversationHead]
    /// The cursor for the next window; after the last window, the cursor for the next pass.
    package var cursor: String
    package var isDone: Bool
    /// The unread counts of all conversations in total, in the first window for a device without data.
    package var totals: UnreadTotals?
    /// Whether the user's drafts changed since the cursor; only in the last window.
    package var hasDrafts = false

    package init(heads: [ConversationHead], cursor: String, isDone: Bool) {
        self.heads = heads
        self.cursor = cursor
        self.isDone = isDone
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.key("heads")
        writer.array(heads) { $1.write(to: &$0) }
        writer.field("cursor", cursor)
        writer.field("done", isDone)
        if let totals {
            writer.key("totals")
            totals.write(to: &writer)
        }
        if hasDrafts { writer.field("drafts", true) }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var heads: [ConversationHead] = []
        var cursor: String?
        var isDone = false
        var totals: UnreadTotals?
        var hasDrafts = false
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "totals": totals = try UnreadTotals(from: &value)
            case "heads":
                heads = try value.list("heads", limit: 5_000) { (head) throws(ChatError) in
                    try ConversationHead(from: &head)
                }
            case "cursor": cursor = try value.string()
            case "done": isDone = try value.bool()
            case "drafts": hasDrafts = try value.bool()
            default: try value.skip()
            }
        }
        self.init(heads: heads, cursor: try cursor.required("cursor"), isDone: isDone)
        self.totals = totals
        self.hasDrafts = hasDrafts
    }
}

extension ReadSummary {
    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("epoch", epoch)
        writer.field("readSeq", readSeq)
        writer.field("unread", unread)
        writer.field("mentions", mentions)
        writer.field("markedUnread", isMarkedUnread)
        if isMuted { writer.field("muted", true) }
        writer.field("notifications", notifications?.rawValue)
        if isPinned { writer.field("pinned", true) }
        if removedSeq > 0 { writer.field("removedSeq", removedSeq) }
        writer.field("seq", seq)
        writer.field("n", countedIndex)
        writer.field("rev", rev)
        writer.field("userRev", userRev)
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var numbers: [String: Int64] = [:]
        var epoch: Epoch?
        var flags: [String: Bool] = [:]
        var notifications: NotificationLevel?
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "epoch": epoch = try value.epoch()
            case "notifications": notifications = NotificationLevel(rawValue: try value.string())
            case "markedUnread", "muted", "pinned": flags[name] = try value.bool()
            case "readSeq", "unread", "mentions", "removedSeq", "seq", "n", "rev", "userRev":
                numbers[name] = try value.counter()
            default: try value.skip()
            }
        }
        func number(_ name: String) throws(ChatError) -> Int64 { try numbers[name].required(name) }
        self.init(
            epoch: try epoch.required("epoch"), readSeq: try number("readSeq"), unread: try number("unread"),
            mentions: try number("mentions"), isMarkedUnread: flags["markedUnread"] ?? false,
            isMuted: flags["muted"] ?? false, notifications: notifications, isPinned: flags["pinned"] ?? false,
            removedSeq: numbers["removedSeq"] ?? 0, seq: try number("seq"), countedIndex: try number("n"),
            rev: try number("rev"),
            userRev: try number("userRev"))
    }
}
