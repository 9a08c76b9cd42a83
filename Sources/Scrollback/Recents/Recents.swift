public import ScrollbackModel

/// The list of recent conversations and the unread counts.
///
/// It is kept in step with every message in the transaction that stores it, so that showing it looks at nothing but the
/// entries shown.
public struct Recents: Sendable {
    let core: ClientCore

    /// The list at one moment.
    public struct View: Hashable, Sendable {
        /// Newest first, pinned ones before.
        public var conversations: [RecentConversation]
        /// What is unread in all conversations of the list, those beyond the view too.
        public var totals: UnreadTotals
        /// Whether this device knows every conversation of the user; a new one has to hear of them first.
        public var isWhole: Bool

        /// Unread messages of all conversations, muted ones too.
        public var totalUnread: Int64 { totals.unread }
    }

    /// The list, and again whenever it changed.
    ///
    /// - Parameters:
    ///   - limit: how many conversations, 1 or more; with less there are no views.
    ///   - filter: which of them.
    /// - Returns: a sequence that begins with the list as it is, keeps only the newest while nobody takes it, and ends
    ///   when the client is closed.
    public func views(limit: Int = 100, matching filter: RecentsFilter = .all) -> AsyncStream<View> {
        let (stream, continuation) = AsyncStream.makeStream(of: View.self, bufferingPolicy: .bufferingNewest(1))
        let changes = core.changes.changes(of: .recents)
        let task = Task { [self] in
            var last: View?
            for await _ in changes {
                do throws(ChatError) {
                    let view = try await core.insisting { () async throws(ChatError) in
                        try await self.view(limit: limit, matching: filter)
                    }
                    if view != last { continuation.yield(view) }
                    last = view
                } catch {
                    break
                }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    /// The list now.
    ///
    /// - Parameters:
    ///   - limit: how many conversations, 1 or more.
    ///   - after: the last one of the page before; absent for the beginning.
    ///   - filter: which of them.
    /// - Returns: that many conversations, fewer where the list ends, and the counts of all.
    /// - Throws: `invalid-parameter` when the limit is below 1; `local-storage`.
    public func view(
        limit: Int = 100, after: RecentConversation? = nil, matching filter: RecentsFilter = .all
    ) async throws(ChatError) -> View {
        guard limit >= 1 else { throw .invalidParameter("limit", "must be 1 or above") }
        return try await core.store.read { reader in
            View(
                conversations: try reader.recents(limit: limit, after: after?.place, matching: filter),
                totals: try reader.totals(), isWhole: try reader.isSettled())
        }
    }

    /// A conversation's entry, if it has one (row 191).
    ///
    /// - Throws: `local-storage`.
    public subscript(id: ConversationID) -> RecentConversation? {
        get async throws(ChatError) { try await core.store.read { try $0.recent(id.log) } }
    }

    /// What is done in one of them.
    package func conversation(_ id: ConversationID) -> Conversation {
        Conversation(id: id.log, core: core)
    }

    /// What is unread in all conversations of the list (rows 205 to 207).
    ///
    /// - Throws: `local-storage`.
    public func totals() async throws(ChatError) -> UnreadTotals {
        try await core.store.read { try $0.totals() }
    }

    /// What happens to the list from here on; `loadedAll` comes first where it is all here (rows 184 to 186, 199 to 203).
    ///
    /// - Returns: a sequence that keeps as many events as the client's configuration says while nobody takes them, then
    ///   says how many were missed, and ends when the client is closed. It never throws.
    public var events: AsyncStream<RecentsEvent> { core.store.recentsEvents.events() }
}

// MARK: Reading

extension Recents {
    /// Marks conversations as read up to their newest message, as far as this device knows of it (row 213).
    ///
    /// - Returns: those that were not marked, since this device does not know them.
    /// - Throws: `invalid-parameter` for a room, which has no read state, or `local-storage`; and then none was.
    @discardableResult
    public func markRead(_ ids: [ConversationID]) async throws(ChatError) -> [ConversationID] {
        let logs = ids.map(\.log)
        for id in logs { try id.checkHasRecents() }
        return try await read(logs.count == 1 ? .one(logs[0]) : .many(logs)) { writer in
            try logs.filter { id in
                let isKnown = try writer.reader.log(of: id) != nil
                _ = try writer.markRead(id, upTo: nil)
                return !isKnown
            }
        }
    }

    /// Marks every conversation as read, or every one of a kind (rows 214 and 215).
    ///
    /// On a new device that is still hearing of its conversations, those that are yet to come are read too, but for what was
    /// said there since.
    ///
    /// - Throws: `local-storage`, and then none was.
    public func markAllRead(of kind: ConversationKind? = nil) async throws(ChatError) {
        let now = Timetoken(core.clock())
        try await read(kind.map { .kind($0) } ?? .all) { try $0.markAllRead(of: kind, at: now) }
    }

    private func read<Answer: Sendable>(
        _ scope: RecentsEvent.ReadScope, _ body: @escaping @Sendable (LocalWriter) throws -> Answer
    ) async throws(ChatError) -> Answer {
        let answer = try await core.store.write(reading: scope, body)
        core.changes.changedAnything()
        core.mailbox.post(.stateSet)
        return answer
    }
}

// MARK: What is in the list

extension Recents {
    /// How a conversation is put into the list by hand.
    public struct AddOptions: Hashable, Sendable {
        /// Whether its last message is shown, or none until the next (row 194).
        public var showsLastMessage: Bool
        /// Whether it stands as if something had been said there now, or where its last message has it, without one at the
        /// end (row 195).
        public var isMovedUp: Bool

        /// Without its last message, and as if something had been said now.
        public init(showsLastMessage: Bool = false, isMovedUp: Bool = true) {
            self.showsLastMessage = showsLastMessage
            self.isMovedUp = isMovedUp
        }
    }

    /// Puts a conversation into the list, whether or not anything was said there; one that is in it stays as it is (row 193).
    ///
    /// Where it was taken out, other devices show it again too; one where nothing was said yet is in this device's list
    /// alone.
    ///
    /// - Returns: its entry.
    /// - Throws: `invalid-parameter` for kinds without a list; `local-storage`.
    @discardableResult
    public func add(
        _ id: ConversationID, options: AddOptions = .init()
    ) async throws(ChatError) -> RecentConversation {
        let id = id.log
        try id.checkHasRecents()
        let time = options.isMovedUp ? Timetoken(core.clock()) : nil
        let (entry, isNews) = try await core.store.write { writer in
            let isNews = try writer.addRecent(id, at: time, showsLast: options.showsLastMessage)
            return (try writer.reader.recent(id), isNews)
        }
        core.changes.changed([id])
        if isNews { core.mailbox.post(.stateSet) }
        guard let entry else { throw ChatError(.localStorage, "the entry was not stored") }
        return entry
    }

    /// How a conversation is taken out of the list.
    public struct RemovalOptions: Hashable, Sendable {
        /// Whether what is unread there counts as read (row 220); else it comes back with the conversation.
        public var marksRead: Bool
        /// Whether new devices are not given what is there by themselves either (row 219); reading its history is as ever.
        public var stopsRoaming: Bool

        /// Marks as read, and lets messages roam.
        public init(marksRead: Bool = true, stopsRoaming: Bool = false) {
            self.marksRead = marksRead
            self.stopsRoaming = stopsRoaming
        }
    }

    /// Takes a conversation out of the list, on every device of the user, until something is said there (row 218).
    ///
    /// Its messages stay.
    ///
    /// - Returns: whether it was in the list.
    /// - Throws: `local-storage`.
    @discardableResult
    public func remove(_ id: ConversationID, options: RemovalOptions = .init()) async throws(ChatError) -> Bool {
        try await remove([id], options: options) > 0
    }

    /// Takes conversations out of the list, all at once.
    ///
    /// - Returns: how many were in it.
    /// - Throws: `local-storage`, and then none was taken out.
    @discardableResult
    public func remove(_ ids: [ConversationID], options: RemovalOptions = .init()) async throws(ChatError) -> Int {
        let logs = Set(ids.map(\.log)).sorted()
        let count = try await core.store.write { writer in
            try logs.count {
                try writer.removeRecent($0, marksRead: options.marksRead, stopsRoaming: options.stopsRoaming)
            }
        }
        core.changes.changed(Set(logs))
        core.mailbox.post(.stateSet)
        return count
    }

    /// New devices are not given what was said there so far by themselves; those that have it keep it, and reading its history
    /// is as ever (row 222).
    ///
    /// - Throws: `invalid-parameter` for kinds without a list; `local-storage`.
    public func stopRoaming(_ ids: [ConversationID]) async throws(ChatError) {
        let logs = ids.map(\.log)
        for id in logs { try id.checkHasRecents() }
        try await core.store.write { writer in
            for id in logs { _ = try writer.set(.stopRoaming(at: writer.reader.newestPlace(of: id)), in: id) }
        }
        core.mailbox.post(.stateSet)
    }

    /// Keeps something of the app's with a conversation's entry, on this device alone (row 196).
    ///
    /// It stays when the conversation leaves the list, and goes when it is deleted.
    ///
    /// - Parameters:
    ///   - json: a JSON object of at most 1 KiB, in place of the one that was there; nothing removes it.
    ///   - notifies: whether views and events tell of it (row 197).
    /// - Throws: `invalid-parameter` when it is no object, or for kinds without a list; `too-large`; `local-storage`.
    public func setLocalExtension(
        _ json: RawJSON?, of id: ConversationID, notifies: Bool = true
    ) async throws(ChatError) {
        try id.checkHasRecents()
        if let json {
            guard json.isObject else { throw .invalidParameter("localExtension", "must be a JSON object") }
            guard json.text.utf8.count <= Conversation.localExtensionBytes else {
                throw ChatError(
                    .tooLarge, "a local extension must be at most \(Conversation.localExtensionBytes) bytes",
                    parameter: "localExtension", limit: Conversation.localExtensionBytes)
            }
        }
        try await core.store.write(tellsRecents: notifies) { try $0.setExtension(json, of: id.log) }
        if notifies { core.changes.changed([id.log]) }
    }
}

// MARK: What the user sets in one conversation

extension Conversation {
    /// Mutes it, on every device of the user: no push comes of it, and it is counted apart.
    ///
    /// What is unread is counted all the same.
    ///
    /// - Throws: `local-storage`.
    public func setMuted(_ isMuted: Bool) async throws(ChatError) {
        try await set { _ in .settings(isMuted: isMuted, isPinned: nil) }
    }

    /// Says which of its messages are pushed, on every device of the user.
    ///
    /// - Parameter level: nil for what holds elsewhere: ``PushPreferences/level``. Where the conversation is muted nothing is
    ///   pushed, unless this is ``NotificationLevel/mentions``.
    /// - Throws: `local-storage`.
    public func setNotifications(_ level: NotificationLevel?) async throws(ChatError) {
        try await set { _ in .notifications(level) }
    }

    /// Pins it before the conversations that are not pinned, on every device of the user.
    ///
    /// - Throws: `local-storage`.
    public func setPinned(_ isPinned: Bool) async throws(ChatError) {
        try await set { _ in .settings(isMuted: nil, isPinned: isPinned) }
    }

    /// Marks it as unread by hand, on every device of the user, until it is read the next time; the counts stay.
    ///
    /// - Throws: `local-storage`.
    public func markUnread() async throws(ChatError) {
        try await set { _ in .markUnread }
    }

    private func set(_ change: @escaping @Sendable (LocalReader) throws -> StateChange) async throws(ChatError) {
        try id.checkHasRecents()
        let changed = try await core.store.write { [id] in try $0.set(try change($0.reader), in: id) }
        guard changed else { return }
        core.changes.changed([id])
        core.mailbox.post(.stateSet)
    }
}

extension ConversationID {
    func checkHasRecents() throws(ChatError) {
        guard kind.traits.hasRecents else {
            throw .invalidParameter("conversation", "\(kind.rawValue)s have no read state and no place in the list")
        }
    }
}
