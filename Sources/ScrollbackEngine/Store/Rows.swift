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
    package var rev: Int64
    /// The oldest place that may hold a message; what lies below went with retention.
    package var firstSeq: Seq
    /// The running number below `firstSeq`.
    package var floorN: Int64
    /// Changes when what readers may see of the past changes.
    package var view: Int64
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
        rev = 0
        firstSeq = 1
        floorN = 0
        view = 0
        moved = 0
    }

    package func epoch(in generation: UInt64) -> Epoch {
        var generator = SplitMix64(seed: generation ^ salt)
        return Epoch(rawValue: generator.next())
    }
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
    package var isMuted: Bool
    package var isPinned: Bool
    package var isMarkedUnread: Bool
    /// Changes when what they may see of the past changes.
    package var view: Int64
    /// Their own change counter when they last changed something here.
    package var userRev: Int64

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
        isMuted = false
        isPinned = false
        isMarkedUnread = false
        view = 0
        userRev = 0
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

/// A run of messages that one person does not count: their own.
package struct HiddenRow: Hashable, Sendable {
    package var lowerSeq: Seq
    package var upperSeq: Seq
    /// The running number before the run and at its end.
    package var lowerN: Int64
    package var upperN: Int64
    /// What the runs below it hold together, those that were forgotten since among them: what any stretch of runs holds is
    /// the difference of two such sums, however many there are.
    ///
    /// It never changes, since runs come and grow at the upper end only and go from the lower one.
    package var below: Int64

    package init(lowerSeq: Seq, upperSeq: Seq, lowerN: Int64, upperN: Int64, below: Int64) {
        self.lowerSeq = lowerSeq
        self.upperSeq = upperSeq
        self.lowerN = lowerN
        self.upperN = upperN
        self.below = below
    }

    /// What this run and those below it hold together, as far as a running number at or above the next lower run's end.
    package func sum(through n: Int64 = .max) -> Int64 { below + max(0, min(n, upperN) - lowerN) }
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

    package init(
        seq: Seq, n: Int64, timetoken: Timetoken, id: MessageID, sender: UserID, type: MessageType, content: RawJSON?,
        attributes: MessageAttributes, rev: Int64 = 0, editedAt: Date? = nil, digest: Int64
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
    }

    package func message(in conversation: ConversationID, epoch: Epoch) -> Message {
        Message(
            conversation: conversation, seq: seq, n: n, id: id, timetoken: timetoken, epoch: epoch, sender: sender,
            type: type, content: content.map { MessageContent(known: type, json: $0) }, rev: rev,
            attributes: attributes, editedAt: editedAt)
    }
}

/// A user as they are stored.
package struct UserRow: Hashable, Sendable {
    package var profile: UserProfile
    /// Counts the changes they made to their own state: joins, leaves, reads.
    package var rev: Int64
    /// Tokens issued before are refused.
    package var revokedAt: Date?

    package init(profile: UserProfile, rev: Int64 = 0, revokedAt: Date? = nil) {
        self.profile = profile
        self.rev = rev
        self.revokedAt = revokedAt
    }
}
