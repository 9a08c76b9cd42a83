package import ScrollbackModel

/// One transaction as the engine's rules see it: a store's writer with the rows that a batch touches kept at hand, so that
/// fifty messages to one conversation move its head once.
///
/// Rules check first and change afterwards: one that throws has changed nothing, and the batch goes on without it.
package final class Transaction {
    package let store: any StoreWriter
    /// No earlier than any time the log gave before, whatever the clock does.
    package private(set) var now: Timetoken
    /// The newest time given so far.
    package private(set) var newest: Timetoken
    /// The number of this commit, stamped on every conversation it touches.
    package let commit: Int64
    package let generation: UInt64
    /// How large the files of messages may be.
    package let mediaLimits: MediaLimits
    /// What people are told of each other.
    let settings: PeopleSettings
    /// What to tell subscribers once it is durable, in order.
    package private(set) var events: [Event] = []

    /// What finds the notifications of messages that were recalled or deleted by somebody and that a push may have told of.
    ///
    /// Not of what an erasure took.
    var recalled: [ConversationID: [Seq: MessageAttributes]] = [:]

    /// Whether the operator's program is told of what it did, where that was set in it.
    package var isTold: Bool?

    private var conversations: [ConversationID: ConversationRow] = [:]
    private var changed: Set<ConversationID> = []
    private var members: [MemberKey: MemberRow?] = [:]
    private var changedMembers: Set<MemberKey> = []
    /// Those of them whom other messages reach by push than before.
    private var movedReach: Set<MemberKey> = []

    private struct MemberKey: Hashable {
        var conversation: Int64
        var user: UserID
    }

    package init(
        store: any StoreWriter, now: Timetoken, commit: Int64, generation: UInt64,
        mediaLimits: MediaLimits = ServerSettings().mediaLimits, settings: PeopleSettings = .init()
    ) {
        self.store = store
        self.now = now
        newest = now
        self.commit = commit
        self.generation = generation
        self.mediaLimits = mediaLimits
        self.settings = settings
    }

    package func publish(_ event: Event) {
        events.append(event)
    }

    /// The time of a message after `last`, the newest of its conversation.
    ///
    /// Messages of one commit to several conversations get one tick after the other, so that a list sorted by time has
    /// one order everywhere.
    package func timetoken(after last: Timetoken) -> Timetoken {
        let time = last.advanced(to: now)
        newest = max(newest, time)
        if time == now { now = Timetoken(rawValue: now.rawValue + 1) }
        return time
    }

    /// Takes note of a time that a message brought along: among equal ones it may lie a little after now.
    func note(_ time: Timetoken) {
        newest = max(newest, time)
    }

    /// A time that lies at or after every message stored so far, in any conversation, and before every later one.
    package func boundary() -> Timetoken {
        let time = newest
        now = Timetoken(rawValue: time.rawValue + 1)
        newest = now
        return time
    }

    // MARK: Conversations

    /// A conversation by its absolute name, deleted ones too.
    package func conversation(_ id: ConversationID) throws -> ConversationRow? {
        if let row = conversations[id] { return row }
        let row = try store.conversation(id)
        conversations[id] = row
        return row
    }

    /// Stores a conversation's row with the commit's number; it is written once, at the end.
    ///
    /// - Parameter isNews: whether devices that were away should hear of it; not of what only the store knows about.
    @discardableResult
    package func put(_ row: ConversationRow, isNews: Bool = true) throws -> ConversationRow {
        var row = row
        if isNews { row.moved = commit }
        if row.number == 0 { try store.put(&row) } else { changed.insert(row.id) }
        conversations[row.id] = row
        return row
    }

    // MARK: Members

    package func member(_ user: UserID, of conversation: Int64) throws -> MemberRow? {
        let key = MemberKey(conversation: conversation, user: user)
        if let known = members[key] { return known }
        let row = try store.member(user, of: conversation)
        members[key] = .some(row)
        return row
    }

    package func put(_ row: MemberRow) {
        let key = MemberKey(conversation: row.conversation, user: row.user)
        let known = members[key] ?? nil
        if known?.standing != row.standing || known?.isMuted != row.isMuted || known?.level != row.level {
            movedReach.insert(key)
        }
        members[key] = .some(row)
        changedMembers.insert(key)
    }

    /// Forgets all that a conversation knows of somebody, besides what they said.
    package func forget(_ user: UserID, in conversation: Int64) throws {
        try flush()
        try store.forget(user, in: conversation)
        members[MemberKey(conversation: conversation, user: user)] = nil
    }

    /// Erases a conversation's contents, and forgets what was at hand of it.
    package func erase(contentsOf conversation: ConversationRow) throws {
        try flush()
        try dropUses(at: 1...Seq.max, in: conversation.number)
        try store.erase(conversation.number)
        members = members.filter { $0.key.conversation != conversation.number }
    }

    /// Counts one more change to what a user has of their own, made by them or by who puts them in or out.
    package func advanceRev(of user: UserID, by caller: UserID) throws -> Int64 {
        var row = try store.user(user) ?? UserRow(profile: UserProfile(id: user))
        row.rev += 1
        // Somebody uses the name again: that others write to it makes nobody of it.
        if row.state == .erased, user == caller { row.state = .active }
        try store.put(row)
        return row.rev
    }

    /// Hands the rows that changed to the store.
    package func flush() throws {
        for id in changed {
            guard var row = conversations[id] else { continue }
            try store.put(&row)
        }
        for key in changedMembers {
            guard case .some(.some(let row)) = members[key] else { continue }
            try store.put(row)
        }
        changed.removeAll(keepingCapacity: true)
        changedMembers.removeAll(keepingCapacity: true)
        for key in movedReach {
            if case .some(.some(let row)) = members[key] { try updateReach(of: row) }
        }
        movedReach.removeAll(keepingCapacity: true)
    }
}
