package import ScrollbackModel

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
    /// Whether the user turned off pushes of the conversation; unrelated to ``Mute``.
    package var mutesPushes: Bool
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
        mutesPushes = false
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
