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

    private var typing: [ConversationID: [UserID]] = [:]
    /// The profiles of users who typed and have not sent a last message.
    private var typists: [UserID: UserProfile] = [:]
    @ObservationIgnored private let client: ChatClient
    @ObservationIgnored private var following: [ConversationID: ModelTask] = [:]

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
    }

    private var profiles: [UserID: UserProfile] { typists.merging(recents.profiles) { $1 } }

    /// The rows of the loaded conversations, in the order of ``RecentsModel/conversations``.
    public var rows: [ConversationRow] {
        let profiles = profiles
        return recents.conversations.map { entry in
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

    /// Follows the typing users of the loaded conversations.
    private func follow() {
        let ids = Set(recents.conversations.map(\.id))
        following = following.filter { ids.contains($0.key) }
        for id in ids where following[id] == nil {
            following[id] = ModelTask(of: self, following: client.conversation(id).typing) { model, users in
                if model.typing[id] ?? [] != users { model.typing[id] = users }
                model.loadProfiles(of: Set(users))
            }
        }
    }

    private func loadProfiles(of users: Set<UserID>) {
        let missing = users.subtracting(recents.profiles.keys)
        guard !missing.isEmpty else { return }
        Task { [weak self, client] in
            let found = try? await client.profiles(of: missing)
            self?.typists.merge(found ?? [:]) { $1 }
        }
    }
}
