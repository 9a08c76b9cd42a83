package import ScrollbackModel

/// A store transaction with a cache of changed rows, in which ``CommitQueue`` runs a batch of changes.
///
/// Because of the cache, fifty messages to one conversation write its row once. A change performs all checks before it
/// changes anything. A change that throws has therefore had no effect, and the batch continues without it.
package final class Transaction {
    /// The store, for all rows but those of conversations and members.
    ///
    /// Those are cached, see ``conversation(_:)`` and ``member(_:of:)``. Call ``flush()`` before you read lists of them
    /// from the store.
    package let store: any StoreWriter
    /// The current time, at least as late as any time assigned before, even if the clock goes back.
    package private(set) var now: Timetoken
    /// The newest time assigned so far.
    package private(set) var newest: Timetoken
    /// The number of this commit, which is stored in every conversation that it changes.
    package let commit: Int64
    package let generation: UInt64
    /// The size limits of message files.
    package let mediaLimits: MediaLimits
    /// The settings for read receipts, presence and notices.
    let settings: PeopleSettings
    /// The users' daily limits, and what they have used.
    let quotas: QuotaSettings
    let ledger: QuotaLedger
    let space: StorageSpace
    /// What this transaction adds, by the users who add it.
    var growth: [UserID: Growth] = [:]
    /// The day of the quotas.
    let day: Int64
    /// The events to publish after the commit, in order.
    package private(set) var events: [Event] = []

    /// The attributes of recalled and deleted messages, by which clients find and remove their notifications.
    ///
    /// Only messages that may have been pushed are included. Messages that the erasure of a user deletes are not.
    var recalled: [ConversationID: [Seq: MessageAttributes]] = [:]

    /// The webhooks that receive the changes, if this transaction changed them.
    var webhooks: WebhookSettings?
    /// How many pending deliveries to webhooks this transaction added, besides those of its events, or deleted if
    /// negative.
    var pendingDeliveries = 0

    private var conversations: [ConversationID: ConversationRow] = [:]
    private var changed: Set<ConversationID> = []
    private var members: [MemberKey: MemberRow?] = [:]
    private var changedMembers: Set<MemberKey> = []
    /// The members whose pushes may be affected by a changed membership, mute or notification level.
    private var changedPushLevels: Set<MemberKey> = []

    private struct MemberKey: Hashable {
        var conversation: Int64
        var user: UserID
    }

    package init(
        store: any StoreWriter, now: Timetoken, commit: Int64, generation: UInt64,
        settings: ServerSettings = .init(), ledger: QuotaLedger = .init(), space: StorageSpace = .unlimited
    ) {
        self.store = store
        self.now = now
        newest = now
        self.commit = commit
        self.generation = generation
        mediaLimits = settings.mediaLimits
        self.settings = settings.people
        quotas = settings.quotas
        self.ledger = ledger
        self.space = space
        day = UsageRow.day(of: now.date)
    }

    package func publish(_ event: Event) {
        events.append(event)
    }

    /// Returns the time for a message after `last`, the newest time of its conversation.
    ///
    /// Messages of one commit get increasing times across conversations, so that a list sorted by time has the same
    /// order everywhere.
    package func timetoken(after last: Timetoken) -> Timetoken {
        let time = last.advanced(to: now)
        newest = max(newest, time)
        if time == now { now = Timetoken(rawValue: now.rawValue + 1) }
        return time
    }

    /// Records the time of an imported message, which may be slightly later than now if several had equal times.
    func recordTime(_ time: Timetoken) {
        newest = max(newest, time)
    }

    /// Returns a time that is at or after every earlier message and change in any conversation, and before every later
    /// one.
    package func boundary() -> Timetoken {
        let time = max(newest, now)
        now = Timetoken(rawValue: time.rawValue + 1)
        newest = now
        return time
    }

    // MARK: Conversations

    /// Returns a conversation by its absolute name; the result can be a deleted conversation.
    package func conversation(_ id: ConversationID) throws -> ConversationRow? {
        if let row = conversations[id] { return row }
        let row = try store.conversation(id)
        conversations[id] = row
        return row
    }

    /// Stores a conversation's row with the number of this commit; the row is written once, when the cache is flushed.
    ///
    /// - Parameter isClientVisible: Whether the change is visible to clients, so that they receive it on their next
    ///   sync.
    @discardableResult
    package func put(_ row: ConversationRow, isClientVisible: Bool = true) throws -> ConversationRow {
        var row = row
        if isClientVisible { row.lastCommit = commit }
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
        if known?.standing != row.standing || known?.mutesPushes != row.mutesPushes || known?.level != row.level {
            changedPushLevels.insert(key)
        }
        members[key] = .some(row)
        changedMembers.insert(key)
    }

    /// Deletes all data of a user in a conversation, except their messages and actions.
    package func forget(_ user: UserID, in conversation: Int64) throws {
        try flush()
        try store.forget(user, in: conversation)
        members[MemberKey(conversation: conversation, user: user)] = nil
    }

    /// Deletes a conversation's contents, and removes its members from the cache.
    package func erase(contentsOf conversation: ConversationRow) throws {
        try flush()
        try removeReferences(at: 1...Seq.max, in: conversation.number)
        try store.erase(conversation.number)
        members = members.filter { $0.key.conversation != conversation.number }
    }

    /// Increments a user's change counter and returns it.
    ///
    /// - Parameter caller: The user who makes the change, which may be another member who adds or removes `user`.
    package func advanceRev(of user: UserID, by caller: UserID) throws -> Int64 {
        var row = try store.user(user) ?? UserRow(profile: UserProfile(id: user))
        row.rev += 1
        // The name of an erased user becomes active again only if the user acts themselves, not if others write to it.
        if row.state == .erased, user == caller { row.state = .active }
        try store.put(row)
        return row.rev
    }

    /// Writes the changed rows in the cache to the store.
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
        for key in changedPushLevels {
            if case .some(.some(let row)) = members[key] { try updatePushLevel(of: row) }
        }
        changedPushLevels.removeAll(keepingCapacity: true)
    }
}
