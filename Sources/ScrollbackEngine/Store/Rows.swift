package import Foundation
package import ScrollbackModel

/// A conversation as it is stored: its settings and where its log stands.
///
/// Names are absolute.
package struct ConversationRow: Hashable, Sendable {
    /// The store's short name for it, given once; 0 before it was stored.
    package var number: Int64
    package var id: ConversationID
    package var name: String?
    package var avatar: String?
    package var metadata: RawJSON?
    package var visibility: HistoryVisibility
    /// A community's channel that lists its own members.
    package var isPrivate: Bool
    /// Deleted: the row stays so that devices that were away hear of it, and gets a new log if it is made again.
    package var isDeleted: Bool
    package var createdAt: Date
    /// Mixed with the store's generation it makes the log's epoch.
    package var salt: UInt64
    package var head: Seq
    /// The running number at `head`.
    package var n: Int64
    /// The newest message's time.
    package var timetoken: Timetoken
    /// The newest message that the list of recents does not pass over, and its time; 0 where there is none.
    package var recentSeq: Seq
    package var recentTime: Timetoken
    package var rev: Int64
    /// The oldest place that may hold a message; what lies below went with retention.
    package var firstSeq: Seq
    /// A number that the messages below `firstSeq` don't exceed, and at or below which none of the others counts.
    package var floorN: Int64
    /// The time of the message at `firstSeq`, or of the newest where none is there: what retention looks at.
    package var floorTime: Timetoken
    /// Places below it hold nothing any more; between it and `firstSeq` lies what is yet to be removed.
    package var sweptSeq: Seq
    /// How long its messages are kept, in days, 0 for ever; absent where the server's setting holds.
    package var retention: Int64?
    /// Changes at or below it were forgotten: whoever has not seen them fetches the log again.
    package var changeFloor: Int64
    /// Whether there are places that are gone for everyone above `firstSeq`.
    package var hasVoids: Bool
    /// Changes when what readers may see of the past changes.
    package var view: Int64
    /// Whether only moderators, owners and administrators may write.
    package var isFrozen: Bool
    /// The most subscribers of a room; absent where any number may be there.
    package var capacity: Int64?
    /// Whether anybody was muted there since the log was made: where nobody was, sending asks for no mute.
    package var hasMutes: Bool
    /// Which of a direct conversation's two people have blocked the other, so that sending asks for no block.
    package var blocks: DirectBlocks
    /// What else is rare enough to be looked for only where it is said to be.
    package var marks: ConversationMarks
    /// The commit that last touched it.
    package var moved: Int64

    package init(id: ConversationID, salt: UInt64, createdAt: Date) {
        number = 0
        self.id = id
        visibility = .sinceJoin
        isPrivate = false
        isDeleted = false
        self.createdAt = createdAt
        self.salt = salt
        head = 0
        n = 0
        timetoken = Timetoken(rawValue: 0)
        recentSeq = 0
        recentTime = Timetoken(rawValue: 0)
        rev = 0
        firstSeq = 1
        floorN = 0
        floorTime = Timetoken(rawValue: 0)
        sweptSeq = 1
        changeFloor = 0
        hasVoids = false
        view = 0
        isFrozen = false
        hasMutes = false
        blocks = []
        marks = []
        moved = 0
    }

    /// Whether it is a community's channel whose members are the community's.
    var isPublicChannel: Bool { id.kind == .community && !id.isCommunityItself && !isPrivate }

    /// What the list of recents is sorted by.
    package var activeAt: Timetoken { recentSeq > 0 ? recentTime : timetoken }

    package func epoch(in generation: UInt64) -> Epoch {
        var generator = SplitMix64(seed: generation ^ salt)
        return Epoch(rawValue: generator.next())
    }
}

/// Who has blocked whom of a direct conversation's two people, in the order of its absolute name.
package struct DirectBlocks: OptionSet, Hashable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static let byFirst = DirectBlocks(rawValue: 1)
    package static let bySecond = DirectBlocks(rawValue: 2)
}

/// What is rare in conversations, so that sending looks for it only where it is.
package struct ConversationMarks: OptionSet, Hashable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// Somebody was banned there since the log was made.
    package static let bans = ConversationMarks(rawValue: 1)
    /// Not both of a direct conversation's two are members: one was erased, or nothing was said to them yet.
    ///
    /// Who is missing is put in with the next message, one who was erased once somebody uses the name again.
    package static let lostPerson = ConversationMarks(rawValue: 2)
}

/// What one person has to do with one conversation.
package struct MemberRow: Hashable, Sendable {
    package enum Standing: Int64, Sendable {
        /// Keeps a read position only: somebody in a community's public channel.
        case reader = 0
        case member = 1
        case left = 2
    }

    package var conversation: Int64
    package var user: UserID
    package var standing: Standing
    package var role: Role
    /// Where they joined last: the newest place then, and the running number there.
    package var joinSeq: Seq
    package var joinN: Int64
    package var readSeq: Seq
    package var readN: Int64
    /// What they cleared for themselves.
    package var clearSeq: Seq
    package var clearN: Int64
    /// Where the conversation ended when they took it out of their list; it comes back with the first message above.
    package var removedSeq: Seq
    /// What new devices are not given by themselves.
    package var roamSeq: Seq
    package var isMuted: Bool
    /// Which messages they want pushed of it; absent where they did not say.
    package var level: NotificationLevel?
    package var isPinned: Bool
    package var isMarkedUnread: Bool
    /// Their own change counter when they last marked it.
    package var markedRev: Int64
    /// Changes when what they may see of the past changes.
    package var view: Int64
    /// Their own change counter when they last changed something here.
    package var userRev: Int64
    /// Whether there are places that they deleted for themselves.
    package var hasVoids: Bool

    package init(conversation: Int64, user: UserID, standing: Standing, role: Role = .member) {
        self.conversation = conversation
        self.user = user
        self.standing = standing
        self.role = role
        joinSeq = 0
        joinN = 0
        readSeq = 0
        readN = 0
        clearSeq = 0
        clearN = 0
        removedSeq = 0
        roamSeq = 0
        isMuted = false
        isPinned = false
        isMarkedUnread = false
        markedRev = 0
        view = 0
        userRev = 0
        hasVoids = false
    }
}

/// A time somebody was a member: places above `joined`, up to `left`.
///
/// Of a community itself, timetokens instead of places, so that joining writes one row however many channels there are.
package struct SpanRow: Hashable, Sendable {
    package var joined: Int64
    package var left: Int64?

    package init(joined: Int64, left: Int64? = nil) {
        self.joined = joined
        self.left = left
    }
}

/// Where a message stands in its log.
package struct PlaceRow: Hashable, Sendable {
    package var seq: Seq
    package var n: Int64
    package var timetoken: Timetoken

    package init(seq: Seq, n: Int64, timetoken: Timetoken) {
        self.seq = seq
        self.n = n
        self.timetoken = timetoken
    }
}

/// Places that are gone: for everyone, or for one person who deleted them for themselves.
///
/// Ranges of one owner neither overlap nor touch.
package struct VoidRow: Hashable, Sendable {
    package var places: SeqRange
    /// Their owner's change counter when they deleted them last; 0 where they are gone for everyone.
    package var userRev: Int64
    /// Whether the messages still lie in the store.
    package var holdsMessages: Bool

    package init(_ places: SeqRange, userRev: Int64 = 0, holdsMessages: Bool = false) {
        self.places = places
        self.userRev = userRev
        self.holdsMessages = holdsMessages
    }
}

/// One entry of a conversation's change log: which places it touched.
///
/// What it made of them is in their rows.
package struct ChangeRow: Hashable, Sendable {
    package enum Kind: Int64, Sendable {
        /// The message at one place is another now.
        case message = 0
        /// A run of places is gone.
        case removal = 1
    }

    package var rev: Int64
    package var kind: Kind
    package var places: SeqRange
    package var at: Timetoken
    /// Given by whoever asked for the change: the same again is answered and not done once more.
    package var operation: MessageID?
    /// What was asked for under that id, and by whom.
    package var digest: Int64
    /// What the answer to it was: how many were deleted, or the time of an action.
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

/// What is remembered of a message whose row is gone, so that a retry of it is still answered.
package struct KeyRow: Hashable, Sendable {
    package var id: MessageID
    package var sender: UserID
    package var digest: Int64
    package var seq: Seq
    package var n: Int64
    package var timetoken: Timetoken
    /// Known of a message that is still there; it is not kept.
    package var thread: MessageID?

    package init(_ message: MessageRow) {
        self.init(
            id: message.id, sender: message.sender, digest: message.digest, seq: message.seq, n: message.n,
            timetoken: message.timetoken)
        thread = message.thread
    }

    package init(id: MessageID, sender: UserID, digest: Int64, seq: Seq, n: Int64, timetoken: Timetoken) {
        self.id = id
        self.sender = sender
        self.digest = digest
        self.seq = seq
        self.n = n
        self.timetoken = timetoken
    }
}

/// An action as it is stored, at its message's place.
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

/// A message as it is stored.
package struct MessageRow: Hashable, Sendable {
    package var seq: Seq
    package var n: Int64
    package var timetoken: Timetoken
    package var id: MessageID
    package var sender: UserID
    package var type: MessageType
    package var content: RawJSON?
    package var attributes: MessageAttributes
    package var rev: Int64
    package var editedAt: Date?
    /// What was submitted, so that a retry can be told from another message with the same id.
    package var digest: Int64

    /// The message at the beginning of the thread this one is a reply in.
    package var thread: MessageID?
    package var replies: ReplySummary?
    package var actions: [ActionSummary]

    package init(
        seq: Seq, n: Int64, timetoken: Timetoken, id: MessageID, sender: UserID, type: MessageType, content: RawJSON?,
        attributes: MessageAttributes, rev: Int64 = 0, editedAt: Date? = nil, digest: Int64, thread: MessageID? = nil,
        replies: ReplySummary? = nil, actions: [ActionSummary] = []
    ) {
        self.seq = seq
        self.n = n
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

    /// Whether it was recalled or deleted, and a stub is left.
    package var isDeleted: Bool { content == nil }

    /// What it does besides being read: as its type says, less what was switched off.
    package var traits: MessageTraits { type.traits.less(attributes.traits) }

    package func message(in conversation: ConversationID, epoch: Epoch) -> Message {
        Message(
            conversation: conversation, seq: seq, n: n, id: id, timetoken: timetoken, epoch: epoch, sender: sender,
            type: type, content: content.map { MessageContent(known: type, json: $0) }, rev: rev,
            attributes: attributes, editedAt: editedAt, thread: thread, replies: replies, actions: actions)
    }
}

/// A user as they are stored.
package struct UserRow: Hashable, Sendable {
    package var profile: UserProfile
    /// Counts the changes they made to their own state: joins, leaves, reads.
    package var rev: Int64
    /// Tokens issued before are refused.
    package var revokedAt: Date?
    package var state: UserState
    /// Whether there may be a ban from the server.
    package var isBanned: Bool

    package init(
        profile: UserProfile, rev: Int64 = 0, revokedAt: Date? = nil, state: UserState = .active,
        isBanned: Bool = false
    ) {
        self.profile = profile
        self.rev = rev
        self.revokedAt = revokedAt
        self.state = state
        self.isBanned = isBanned
    }
}
