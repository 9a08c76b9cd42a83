package import Foundation
package import ScrollbackModel

/// A stored conversation: its settings and the state of its log.
///
/// Names are absolute.
package struct ConversationRow: Hashable, Sendable {
    /// The store's number for the conversation, assigned once; 0 before it is stored.
    package var number: Int64
    package var id: ConversationID
    package var name: String?
    package var avatar: String?
    package var metadata: RawJSON?
    /// When the name or avatar last changed; members whose membership ended earlier don't see them.
    package var namedAt: Timetoken
    package var visibility: HistoryVisibility
    /// Whether this is a channel with its own list of members.
    package var isPrivate: Bool
    /// Whether the conversation is deleted.
    ///
    /// The row stays so that offline devices learn of the deletion, and gets a new log if the conversation is created
    /// again.
    package var isDeleted: Bool
    package var createdAt: Date
    /// A random number that, combined with the store's generation, determines the log's epoch.
    package var salt: UInt64
    package var head: Seq
    /// The counted index at `head`.
    package var countedIndex: Int64
    /// The time of the newest message.
    package var timetoken: Timetoken
    /// The sequence number of the newest message that recents don't skip; 0 if there is none.
    package var recentSeq: Seq
    /// The time of that message.
    package var recentTime: Timetoken
    package var rev: Int64
    /// The lowest sequence number above the retention floor.
    package var firstSeq: Seq
    /// A counted index that messages below `firstSeq` don't exceed, and that all counted messages above it exceed.
    package var floorCountedIndex: Int64
    /// The time of the message at `firstSeq`, or of the newest message if there is none; used by retention.
    package var floorTime: Timetoken
    /// The sequence number below which all rows are removed; rows between it and `firstSeq` are yet to be removed.
    package var sweptSeq: Seq
    /// How long messages are retained, in days; 0 means forever, and `nil` selects the server's setting.
    package var retention: Int64?
    /// The revision up to which changes were deleted; clients with an older state fetch the messages again.
    package var changeFloor: Int64
    /// Whether there are deleted ranges above `firstSeq`.
    package var hasDeletedRanges: Bool
    /// A counter that increases whenever the visible history of all members changes.
    package var view: Int64
    /// Whether only moderators, owners and administrators may write.
    package var isFrozen: Bool
    /// The maximum number of a room's subscribers; `nil` for no limit.
    package var capacity: Int64?
    /// Whether any user was muted since the log was created; if not, sending does not look up mutes.
    package var hasMutes: Bool
    /// Which user of a direct conversation has blocked the other, so that sending does not look up blocks.
    package var blocks: DirectBlocks
    /// Flags for rare conditions, which are looked up only if their flag is set.
    package var flags: ConversationFlags
    /// The number of the last commit that changed the conversation.
    package var lastCommit: Int64

    package init(id: ConversationID, salt: UInt64, createdAt: Date) {
        number = 0
        self.id = id
        namedAt = Timetoken(rawValue: 0)
        visibility = .sinceJoin
        isPrivate = false
        isDeleted = false
        self.createdAt = createdAt
        self.salt = salt
        head = 0
        countedIndex = 0
        timetoken = Timetoken(rawValue: 0)
        recentSeq = 0
        recentTime = Timetoken(rawValue: 0)
        rev = 0
        firstSeq = 1
        floorCountedIndex = 0
        floorTime = Timetoken(rawValue: 0)
        sweptSeq = 1
        changeFloor = 0
        hasDeletedRanges = false
        view = 0
        isFrozen = false
        hasMutes = false
        blocks = []
        flags = []
        lastCommit = 0
    }

    /// Whether this is a channel whose members are its community's.
    var isPublicChannel: Bool { id.kind == .community && !id.isCommunityRoot && !isPrivate }

    /// The time by which the list of recents is sorted.
    package var activeAt: Timetoken { recentSeq > 0 ? recentTime : timetoken }

    package func epoch(in generation: UInt64) -> Epoch {
        var generator = SplitMix64(seed: generation ^ salt)
        return Epoch(rawValue: generator.next())
    }
}

/// Which of a direct conversation's two users have blocked the other, in the order of its absolute name.
package struct DirectBlocks: OptionSet, Hashable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static let byFirst = DirectBlocks(rawValue: 1)
    package static let bySecond = DirectBlocks(rawValue: 2)
}

/// Flags for rare conditions of conversations, so that sending looks them up only if necessary.
package struct ConversationFlags: OptionSet, Hashable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// A user was banned since the log was created.
    package static let bans = ConversationFlags(rawValue: 1)
    /// A user of a direct conversation is not a member, because they were erased or have not received a message yet.
    ///
    /// The missing user is added with the next message, and an erased user when their name is used again.
    package static let missingParticipant = ConversationFlags(rawValue: 2)
}

/// A user's membership and state in one conversation.
package struct MemberRow: Hashable, Sendable {
    package enum Standing: Int64, Sendable {
        /// The user has a read position only, in a public channel of their community.
        case reader = 0
        case member = 1
        case left = 2
    }

    package var conversation: Int64
    package var user: UserID
    package var standing: Standing
    package var role: Role
    /// The head when the user last joined.
    package var joinSeq: Seq
    /// The counted index when the user last joined.
    package var joinCountedIndex: Int64
    package var readSeq: Seq
    package var readCountedIndex: Int64
    /// The sequence number up to which the user cleared the history.
    package var clearSeq: Seq
    package var clearCountedIndex: Int64
    /// The head when the user removed the conversation from their list; it returns with the first message above.
    package var removedSeq: Seq
    /// The sequence number up to which messages are not sent to new devices.
    package var newDeviceFloor: Seq
    package var isMuted: Bool
    /// Which messages are pushed; `nil` for the default.
    package var level: NotificationLevel?
    package var isPinned: Bool
    package var isMarkedUnread: Bool
    /// The user's change counter when they last marked the conversation as unread.
    package var markedRev: Int64
    /// A counter that increases whenever the member's visible history changes.
    package var view: Int64
    /// The user's change counter when they last changed something here.
    package var userRev: Int64
    /// Whether the user hid messages.
    package var hasDeletedRanges: Bool

    package init(conversation: Int64, user: UserID, standing: Standing, role: Role = .member) {
        self.conversation = conversation
        self.user = user
        self.standing = standing
        self.role = role
        joinSeq = 0
        joinCountedIndex = 0
        readSeq = 0
        readCountedIndex = 0
        clearSeq = 0
        clearCountedIndex = 0
        removedSeq = 0
        newDeviceFloor = 0
        isMuted = false
        isPinned = false
        isMarkedUnread = false
        markedRev = 0
        view = 0
        userRev = 0
        hasDeletedRanges = false
    }
}

/// A membership span: it covers sequence numbers above `joined`, up to `left`.
///
/// For a community itself, the boundaries are timetokens, so that joining writes one row regardless of the number of
/// channels.
package struct SpanRow: Hashable, Sendable {
    /// What is kept when a membership ends, because former members see the conversation as it was then.
    package struct End: Hashable, Sendable {
        /// The time after every earlier change and before every later one.
        package var time: Timetoken
        /// The conversation's newest revision.
        package var rev: Int64
        /// Whether the member left and was not removed.
        package var isVoluntary: Bool
        package var name: String?
        package var avatar: String?

        package init(time: Timetoken, rev: Int64, isVoluntary: Bool, name: String? = nil, avatar: String? = nil) {
            self.time = time
            self.rev = rev
            self.isVoluntary = isVoluntary
            self.name = name
            self.avatar = avatar
        }
    }

    package var joined: Int64
    package var left: Int64?
    /// `nil` for an open span, and for one that ended before servers kept this.
    package var end: End?

    package init(joined: Int64, left: Int64? = nil, end: End? = nil) {
        self.joined = joined
        self.left = left
        self.end = end
    }
}

/// The position of a message in its log.
package struct PositionRow: Hashable, Sendable {
    package var seq: Seq
    package var countedIndex: Int64
    package var timetoken: Timetoken

    package init(seq: Seq, countedIndex: Int64, timetoken: Timetoken) {
        self.seq = seq
        self.countedIndex = countedIndex
        self.timetoken = timetoken
    }
}

/// A deleted range: deleted for everyone, or hidden by one user.
///
/// Ranges of one owner neither overlap nor touch.
package struct DeletedRangeRow: Hashable, Sendable {
    package var places: SeqRange
    /// The owner's change counter when they last hid messages in this range; 0 if the range is deleted for everyone.
    package var userRev: Int64
    /// Whether the messages are still stored.
    package var holdsMessages: Bool

    package init(_ places: SeqRange, userRev: Int64 = 0, holdsMessages: Bool = false) {
        self.places = places
        self.userRev = userRev
        self.holdsMessages = holdsMessages
    }
}

/// An entry of a conversation's change log: the sequence numbers that a change affected.
///
/// The messages' rows contain their new state.
package struct ChangeRow: Hashable, Sendable {
    package enum Kind: Int64, Sendable {
        /// A message changed.
        case message = 0
        /// A range was deleted.
        case removal = 1
    }

    package var rev: Int64
    package var kind: Kind
    package var places: SeqRange
    package var at: Timetoken
    /// The idempotency ID of the request; a retry gets the same answer and changes nothing.
    package var operation: MessageID?
    /// A digest of the request and its caller.
    package var digest: Int64
    /// The request's answer: the number of deleted messages, or the time of an action.
    package var answer: Int64

    package init(
        rev: Int64, kind: Kind, places: SeqRange, at: Timetoken, operation: MessageID? = nil, digest: Int64 = 0,
        answer: Int64 = 0
    ) {
        self.rev = rev
        self.kind = kind
        self.places = places
        self.at = at
        self.operation = operation
        self.digest = digest
        self.answer = answer
    }
}

/// The key of a message, which outlives its row so that retries are recognized.
package struct KeyRow: Hashable, Sendable {
    package var id: MessageID
    package var sender: UserID
    package var digest: Int64
    package var seq: Seq
    package var countedIndex: Int64
    package var timetoken: Timetoken
    /// The thread of a message that still exists; not stored with the key.
    package var thread: MessageID?

    package init(_ message: MessageRow) {
        self.init(
            id: message.id, sender: message.sender, digest: message.digest, seq: message.seq,
            countedIndex: message.countedIndex,
            timetoken: message.timetoken)
        thread = message.thread
    }

    package init(id: MessageID, sender: UserID, digest: Int64, seq: Seq, countedIndex: Int64, timetoken: Timetoken) {
        self.id = id
        self.sender = sender
        self.digest = digest
        self.seq = seq
        self.countedIndex = countedIndex
        self.timetoken = timetoken
    }
}

/// A stored action on the message with the same sequence number.
package struct ActionRow: Hashable, Sendable {
    package var seq: Seq
    package var timetoken: Timetoken
    package var sender: UserID
    package var type: String
    package var value: String

    package init(seq: Seq, timetoken: Timetoken, sender: UserID, type: String, value: String) {
        self.seq = seq
        self.timetoken = timetoken
        self.sender = sender
        self.type = type
        self.value = value
    }
}

/// A stored message.
package struct MessageRow: Hashable, Sendable {
    package var seq: Seq
    package var countedIndex: Int64
    package var timetoken: Timetoken
    package var id: MessageID
    package var sender: UserID
    package var type: MessageType
    package var content: RawJSON?
    package var attributes: MessageAttributes
    package var rev: Int64
    package var editedAt: Date?
    /// A digest of the submission, which distinguishes a retry from another message with the same ID.
    package var digest: Int64

    /// The first message of the thread that this message is a reply in.
    package var thread: MessageID?
    package var replies: ReplySummary?
    package var actions: [ActionSummary]

    package init(
        seq: Seq, countedIndex: Int64, timetoken: Timetoken, id: MessageID, sender: UserID, type: MessageType,
        content: RawJSON?,
        attributes: MessageAttributes, rev: Int64 = 0, editedAt: Date? = nil, digest: Int64, thread: MessageID? = nil,
        replies: ReplySummary? = nil, actions: [ActionSummary] = []
    ) {
        self.seq = seq
        self.countedIndex = countedIndex
        self.timetoken = timetoken
        self.id = id
        self.sender = sender
        self.type = type
        self.content = content
        self.attributes = attributes
        self.rev = rev
        self.editedAt = editedAt
        self.digest = digest
        self.thread = thread
        self.replies = replies
        self.actions = actions
    }

    /// Whether the message was deleted, so that only a tombstone is left.
    package var isDeleted: Bool { content == nil }

    /// The message's traits: those of its type, without those that were turned off.
    package var traits: MessageTraits { type.traits.restricted(by: attributes.traits) }

    package func message(in conversation: ConversationID, epoch: Epoch) -> Message {
        Message(
            conversation: conversation, seq: seq, countedIndex: countedIndex, id: id, timetoken: timetoken,
            epoch: epoch, sender: sender,
            type: type, content: content.map { MessageContent(known: type, json: $0) }, rev: rev,
            attributes: attributes, editedAt: editedAt, thread: thread, replies: replies, actions: actions)
    }
}

/// A stored user.
package struct UserRow: Hashable, Sendable {
    package var profile: UserProfile
    /// The user's change counter, which increases with changes of their own state, such as joining, leaving or reading.
    package var rev: Int64
    /// The time at or before which issued tokens are refused.
    package var revokedAt: Date?
    package var state: UserState
    /// Whether the user may be banned from the server.
    package var isBanned: Bool
    /// Whether other users may only invite the user, and not add them to conversations.
    package var isInvitationOnly: Bool

    package init(
        profile: UserProfile, rev: Int64 = 0, revokedAt: Date? = nil, state: UserState = .active,
        isBanned: Bool = false, isInvitationOnly: Bool = false
    ) {
        self.profile = profile
        self.rev = rev
        self.revokedAt = revokedAt
        self.state = state
        self.isBanned = isBanned
        self.isInvitationOnly = isInvitationOnly
    }
}
