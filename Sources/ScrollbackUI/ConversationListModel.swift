public import Observation
public import Scrollback

/// An observable model of a list of conversations with names and typing users, and of the conversations opened from it.
@MainActor
@Observable
public final class ConversationListModel {
    /// The model of the entries, with the actions on them.
    public let recents: RecentsModel
    /// The search in all conversations.
    public let search: SearchModel
    /// The open conversations, as the path of a navigation stack.
    public var path: [ConversationModel] = []
    /// The model of a group that the user is about to create; `nil` if there is none.
    public var newGroup: NewGroupModel?

    private var profiles: [UserID: UserProfile] = [:]
    private var typing: [ConversationID: [UserID]] = [:]
    @ObservationIgnored private let client: ChatClient
    @ObservationIgnored private var following: [ConversationID: ModelTask] = [:]
    /// The users whose profiles were requested since the client connected.
    @ObservationIgnored private var requested: Set<UserID> = []
    @ObservationIgnored private var connecting: ModelTask?

    /// Creates a model and starts its updates.
    ///
    /// - Parameters:
    ///   - client: The client whose conversations to show.
    ///   - pageSize: The number of conversations in a page, 1...100; otherwise the initializer traps.
    public init(_ client: ChatClient, pageSize: Int = 50) {
        precondition((1...100).contains(pageSize), "The page size must be in 1...100.")
        self.client = client
        recents = RecentsModel(client.recents, pageSize: pageSize)
        search = SearchModel(client)
        recents.onChange = { [weak self] in self?.follow() }
        connecting = ModelTask(of: self, following: client.connection) { model, state in
            guard state == .online else { return }
            // Some names can be missing without a connection, or change in the meantime.
            model.requested = []
            model.follow()
        }
    }

    /// The rows of the loaded conversations, in the order of ``RecentsModel/conversations``.
    public var rows: [ConversationRow] {
        recents.conversations.map { entry in
            ConversationRow(entry, user: client.user, typing: typing[entry.id] ?? [], profiles: profiles)
        }
    }

    /// Opens a conversation at a message, or at its first unread message, and adds it to ``path``.
    public func open(_ id: ConversationID, at message: MessageID? = nil) {
        let entry = recents.conversations.first { $0.id == id }
        path.append(
            ConversationModel(
                client, id, title: id.title(named: entry?.name, profiles),
                at: message.map { .id($0) } ?? .firstUnread))
    }

    /// Opens a conversation at a message that ``search`` found, and adds it to ``path``.
    public func open(_ result: SearchModel.Row) {
        path.append(ConversationModel(client, result.conversation, title: result.title, at: .id(result.id)))
    }

    /// Begins a new group: sets ``newGroup``.
    public func beginGroup() {
        newGroup = NewGroupModel(client)
    }

    /// Creates the group of ``newGroup`` and opens it; has no effect if its name is missing.
    ///
    /// If the server refuses the group later, ``TimelineModel/error`` of the opened conversation is set.
    public func createGroup() async {
        guard let newGroup, let id = await newGroup.create() else { return }
        self.newGroup = nil
        let screen = ConversationModel(client, id, title: newGroup.name)
        if let creation = newGroup.creation { screen.timeline.report(creation) }
        path.append(screen)
    }

    /// Mutes a conversation, or unmutes it, on all devices of the user.
    ///
    /// - Throws: `local-storage`.
    public func toggleMuted(_ row: ConversationRow) async throws(ChatError) {
        try await recents.setMuted(!row.isMuted, row.id)
    }

    /// Pins a conversation to the top of the list, or unpins it, on all devices of the user.
    ///
    /// - Throws: `local-storage`.
    public func togglePinned(_ row: ConversationRow) async throws(ChatError) {
        try await recents.setPinned(!row.isPinned, row.id)
    }

    /// Loads another page when the user reaches the last row; the error is in ``RecentsModel/error``.
    public func rowAppeared(_ id: ConversationID) async {
        guard id == recents.conversations.last?.id else { return }
        try? await recents.loadMore()
    }

    /// Follows the typing users of the loaded conversations, and requests the profiles that are missing.
    private func follow() {
        let ids = Set(recents.conversations.map(\.id))
        following = following.filter { ids.contains($0.key) }
        for id in ids where following[id] == nil {
            following[id] = ModelTask(of: self, following: client.conversation(id).typing) { model, users in
                if model.typing[id] ?? [] != users { model.typing[id] = users }
                model.request(Set(users))
            }
        }
        request(Set(recents.conversations.flatMap { [$0.id.peer, $0.lastMessage?.sender].compactMap { $0 } }))
    }

    private func request(_ people: Set<UserID>) {
        // One call accepts 1,000 users. The next change requests the others.
        let missing = Set(people.subtracting(requested).prefix(1000))
        guard !missing.isEmpty else { return }
        requested.formUnion(missing)
        Task { [weak self, client] in
            // The request can take long with a bad connection. The names on this device don't wait for it.
            let known = try? await client.core.knownPeople(missing)
            self?.add(known ?? [:])
            let found = try? await client.profiles(of: missing)
            self?.add(found ?? [:])
        }
    }

    private func add(_ found: [UserID: UserProfile]) {
        let all = profiles.merging(found) { $1 }
        if profiles != all { profiles = all }
    }
}
