import Foundation
public import ScrollbackModel

/// The list of recent conversations and the unread counts.
///
/// The list is updated in the same transaction as the messages, so reading it only touches the entries shown.
public struct Recents: Sendable {
    let core: ClientCore

    /// A snapshot of the list.
    public struct View: Hashable, Sendable {
        /// The conversations: pinned ones first, then the most recently active ones.
        public var conversations: [RecentConversation]
        /// The unread totals of all listed conversations, including those outside of the snapshot.
        public var totals: UnreadTotals
        /// Whether this device knows all conversations of the user.
        ///
        /// On a new device this is `false` until the first sync completes.
        public var isComplete: Bool
        /// The profiles on this device of the conversations' peers and of the last messages' senders.
        public var profiles: [UserID: UserProfile]

        /// The number of unread messages in all conversations, including muted ones.
        public var totalUnread: Int64 { totals.unread }

        /// Returns the text that names a conversation of the list: its name, the name of its peer, or else its ID
        /// without the kind.
        public func title(of conversation: RecentConversation) -> String {
            conversation.id.title(named: conversation.name, profiles)
        }
    }

    /// Returns a stream with the current list, and a new snapshot after each change.
    ///
    /// Profiles that are missing, or older than an hour, are loaded while the stream is iterated.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of conversations, at least 1. The stream ends without an element if it is less.
    ///   - filter: The conversations to return.
    /// - Returns: A stream that starts with the current list, buffers only the newest snapshot, and ends when the
    ///   client is closed.
    public func views(limit: Int = 100, matching filter: RecentsFilter = .all) -> AsyncStream<View> {
        let (stream, continuation) = AsyncStream.makeStream(of: View.self, bufferingPolicy: .bufferingNewest(1))
        let changes = core.changes.changes(of: .recents)
        let task = Task { [self] in
            let fetch = ProfileFetch(core)
            await withDiscardingTaskGroup { group in
                var last: View?
                for await _ in changes {
                    let read = try? await core.retryingReads { () async throws(ChatError) in
                        try await self.read(limit: limit, after: nil, matching: filter)
                    }
                    guard let (view, outdated) = read else { break }
                    if view != last { continuation.yield(view) }
                    last = view
                    if fetch.begin(outdated) { group.addTask { await fetch.run(outdated) } }
                }
                group.cancelAll()
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    /// Returns a page of the list, without a request to the server.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of conversations, at least 1.
    ///   - after: The last conversation of the previous page; `nil` for the first page.
    ///   - filter: The conversations to return.
    /// - Returns: The conversations, and the totals of all conversations.
    /// - Throws: `invalid-parameter` if the limit is less than 1, or `local-storage`.
    public func view(
        limit: Int = 100, after: RecentConversation? = nil, matching filter: RecentsFilter = .all
    ) async throws(ChatError) -> View {
        try await read(limit: limit, after: after, matching: filter).view
    }

    /// Returns a page of the list, and the users whose profiles must be fetched.
    private func read(
        limit: Int, after: RecentConversation?, matching filter: RecentsFilter
    ) async throws(ChatError) -> (view: View, outdated: Set<UserID>) {
        guard limit >= 1 else { throw .invalidParameter("limit", "must be at least 1") }
        let time = core.clock().addingTimeInterval(-ClientCore.profileLifetime)
        return try await core.store.read { reader in
            let conversations = try reader.recents(limit: limit, after: after?.place, matching: filter)
            let users = Set(conversations.flatMap { [$0.id.peer, $0.lastMessage?.sender].compactMap { $0 } })
            let people = try reader.profiles(users, fetchedSince: time)
            let view = View(
                conversations: conversations, totals: try reader.totals(), isComplete: try reader.hasCompletedSync(),
                profiles: people.profiles)
            return (view, people.outdated)
        }
    }

    /// Returns a conversation's entry, or `nil` if it has none.
    ///
    /// - Throws: `local-storage`.
    public subscript(id: ConversationID) -> RecentConversation? {
        get async throws(ChatError) { try await core.store.read { [id = core.log(of: id)] in try $0.recent(id) } }
    }

    /// Returns a handle for a conversation of the list.
    package func conversation(_ id: ConversationID) -> Conversation {
        Conversation(id: core.log(of: id), core: core)
    }

    /// Returns the unread totals of all listed conversations.
    ///
    /// - Throws: `local-storage`.
    public func totals() async throws(ChatError) -> UnreadTotals {
        try await core.store.read { try $0.totals() }
    }

    /// A stream of changes to the list, which starts with `loadedAll` if the list is complete.
    ///
    /// A new name or picture that this device set is reported when the server has accepted it.
    ///
    /// The stream buffers as many events as ``ChatClient/Configuration/eventBuffer`` allows, and then reports the
    /// number of dropped ones. It ends when the client is closed.
    public var events: AsyncStream<RecentsEvent> { core.store.recentsEvents.events() }
}

// MARK: Reading

extension Recents {
    /// Marks conversations as read, up to the newest message that this device knows.
    ///
    /// - Returns: The conversations that were not marked, because this device doesn't know them.
    /// - Throws: `invalid-parameter` for a chat room, which has no read state, or `local-storage`. In both cases no
    ///   conversation is marked.
    @discardableResult
    public func markRead(_ ids: [ConversationID]) async throws(ChatError) -> [ConversationID] {
        let logs = ids.map(core.log)
        for id in logs { try id.checkHasRecents() }
        return try await read(logs.count == 1 ? .one(logs[0]) : .many(logs)) { writer in
            try logs.filter { id in
                let isKnown = try writer.reader.log(of: id) != nil
                _ = try writer.markRead(id, upTo: nil)
                return !isKnown
            }
        }
    }

    /// Marks all conversations as read, or all of one kind.
    ///
    /// On a new device that is still syncing, this includes conversations that have not been fetched yet, up to the
    /// current time.
    ///
    /// - Throws: `local-storage`, in which case no conversation is marked.
    public func markAllRead(of kind: ConversationKind? = nil) async throws(ChatError) {
        let now = Timetoken(core.clock())
        try await read(kind.map { .kind($0) } ?? .all) { try $0.markAllRead(of: kind, at: now) }
    }

    private func read<Answer: Sendable>(
        _ scope: RecentsEvent.ReadScope, _ body: @escaping @Sendable (LocalWriter) throws -> Answer
    ) async throws(ChatError) -> Answer {
        let answer = try await core.store.write(reading: scope, body)
        core.changes.changedAnything()
        core.mailbox.post(.settingChanged)
        return answer
    }
}

// MARK: Adding and removing

extension Recents {
    /// Options for adding a conversation to the list.
    public struct AddOptions: Hashable, Sendable {
        /// Whether the entry shows its last message.
        ///
        /// If not, it shows none until the next message.
        public var showsLastMessage: Bool
        /// Whether the entry is sorted as if it was active now.
        ///
        /// If not, it is sorted by its last message, or last without one.
        public var movesToTop: Bool

        /// Creates options; by default the last message is hidden, and the entry is sorted as active now.
        public init(showsLastMessage: Bool = false, movesToTop: Bool = true) {
            self.showsLastMessage = showsLastMessage
            self.movesToTop = movesToTop
        }
    }

    /// Adds a conversation to the list, with or without messages.
    ///
    /// A listed conversation doesn't change.
    ///
    /// If the conversation was removed from the list, the user's other devices list it again too. A conversation
    /// without messages is only listed on this device.
    ///
    /// - Returns: The entry.
    /// - Throws: `invalid-parameter` for kinds that are never listed, or `local-storage`.
    @discardableResult
    public func add(
        _ id: ConversationID, options: AddOptions = .init()
    ) async throws(ChatError) -> RecentConversation {
        let id = core.log(of: id)
        try id.checkHasRecents()
        let time = options.movesToTop ? Timetoken(core.clock()) : nil
        let (entry, needsSync) = try await core.store.write { writer in
            let needsSync = try writer.addRecent(id, at: time, showsLast: options.showsLastMessage)
            return (try writer.reader.recent(id), needsSync)
        }
        core.changes.changed([id])
        if needsSync { core.mailbox.post(.settingChanged) }
        guard let entry else { throw ChatError(.localStorage, "The entry was not stored.") }
        return entry
    }

    /// Options for removing a conversation from the list.
    public struct RemovalOptions: Hashable, Sendable {
        /// Whether unread messages are marked as read.
        ///
        /// If not, they are unread again when the conversation returns to the list.
        public var marksRead: Bool
        /// Whether new devices stop downloading the existing messages automatically.
        ///
        /// Their history can still be loaded on demand.
        public var excludesFromNewDevices: Bool

        /// Creates options; by default messages are marked as read, and new devices still download them.
        public init(marksRead: Bool = true, excludesFromNewDevices: Bool = false) {
            self.marksRead = marksRead
            self.excludesFromNewDevices = excludesFromNewDevices
        }
    }

    /// Removes a conversation from the list, on all devices of the user, until its next message.
    ///
    /// Its messages stay.
    ///
    /// - Returns: Whether it was in the list.
    /// - Throws: `local-storage`.
    @discardableResult
    public func remove(_ id: ConversationID, options: RemovalOptions = .init()) async throws(ChatError) -> Bool {
        try await remove([id], options: options) > 0
    }

    /// Removes conversations from the list in one transaction.
    ///
    /// - Returns: The number of conversations that were in the list.
    /// - Throws: `local-storage`, in which case no conversation is removed.
    @discardableResult
    public func remove(_ ids: [ConversationID], options: RemovalOptions = .init()) async throws(ChatError) -> Int {
        let logs = Set(ids.map(core.log)).sorted()
        let count = try await core.store.write { writer in
            try logs.count {
                try writer.removeRecent(
                    $0, marksRead: options.marksRead, excludesFromNewDevices: options.excludesFromNewDevices)
            }
        }
        core.changes.changed(Set(logs))
        core.mailbox.post(.settingChanged)
        return count
    }

    /// Excludes the existing messages of conversations from new devices, which no longer download them automatically.
    ///
    /// Devices that have the messages keep them, and history can still be loaded on demand.
    ///
    /// - Throws: `invalid-parameter` for kinds that are never listed, or `local-storage`.
    public func excludeFromNewDevices(_ ids: [ConversationID]) async throws(ChatError) {
        let logs = ids.map(core.log)
        for id in logs { try id.checkHasRecents() }
        try await core.store.write { writer in
            for id in logs {
                _ = try writer.set(.excludeFromNewDevices(at: writer.reader.newestPosition(of: id)), in: id)
            }
        }
        core.mailbox.post(.settingChanged)
    }

    /// Stores app-defined data of a conversation's entry, on this device only.
    ///
    /// The data stays when the conversation leaves the list, and is deleted with the conversation.
    ///
    /// - Parameters:
    ///   - json: A JSON object of at most 1 KiB, which replaces the existing one; `nil` deletes it.
    ///   - id: The conversation.
    ///   - notifies: Whether views and events report the change.
    /// - Throws: `invalid-parameter` if `json` is not an object, or for kinds that are never listed. `too-large` or
    ///   `local-storage`.
    public func setLocalExtension(
        _ json: RawJSON?, of id: ConversationID, notifies: Bool = true
    ) async throws(ChatError) {
        try id.checkHasRecents()
        if let json {
            guard json.isObject else { throw .invalidParameter("localExtension", "must be a JSON object") }
            guard json.text.utf8.count <= Conversation.localExtensionBytes else {
                throw ChatError(
                    .tooLarge, "A local extension must have at most \(Conversation.localExtensionBytes) bytes.",
                    parameter: "localExtension", limit: Conversation.localExtensionBytes)
            }
        }
        let log = core.log(of: id)
        try await core.store.write(notifiesRecents: notifies) { try $0.setExtension(json, of: log) }
        if notifies { core.changes.changed([log]) }
    }
}

// MARK: Settings of one conversation

extension Conversation {
    /// Mutes or unmutes the conversation, on all devices of the user.
    ///
    /// A muted conversation causes no pushes. Its unread messages are counted separately.
    ///
    /// - Throws: `invalid-parameter` for kinds that are never listed, or `local-storage`.
    public func setMuted(_ isMuted: Bool) async throws(ChatError) {
        try await set { _ in .settings(isMuted: isMuted, isPinned: nil) }
    }

    /// Sets which messages of the conversation are pushed, on all devices of the user.
    ///
    /// - Parameter level: The level; `nil` for the user's default, ``PushPreferences/level``. A muted conversation
    ///   causes no pushes, unless the level is ``NotificationLevel/mentions``.
    /// - Throws: `invalid-parameter` for kinds that are never listed, or `local-storage`.
    public func setNotifications(_ level: NotificationLevel?) async throws(ChatError) {
        try await set { _ in .notifications(level) }
    }

    /// Pins the conversation to the top of the list, or unpins it, on all devices of the user.
    ///
    /// - Throws: `invalid-parameter` for kinds that are never listed, or `local-storage`.
    public func setPinned(_ isPinned: Bool) async throws(ChatError) {
        try await set { _ in .settings(isMuted: nil, isPinned: isPinned) }
    }

    /// Marks the conversation as unread, on all devices of the user, until it is read.
    ///
    /// The counts don't change.
    ///
    /// - Throws: `invalid-parameter` for kinds that are never listed, or `local-storage`.
    public func markUnread() async throws(ChatError) {
        try await set { _ in .markUnread }
    }

    private func set(_ change: @escaping @Sendable (LocalReader) throws -> StateChange) async throws(ChatError) {
        try id.checkHasRecents()
        let changed = try await core.store.write { [id] in try $0.set(try change($0.reader), in: id) }
        guard changed else { return }
        core.changes.changed([id])
        core.mailbox.post(.settingChanged)
    }
}

extension ConversationID {
    func checkHasRecents() throws(ChatError) {
        guard kind.traits.hasRecents else {
            throw .invalidParameter(
                "conversation", "must not be a \(kind.rawValue), which has no read state and no entry in the list")
        }
    }
}
