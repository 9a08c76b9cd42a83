public import Observation
public import Scrollback

/// An observable model of a form that creates a group.
@MainActor
@Observable
public final class NewGroupModel: Identifiable {
    /// The name of the group.
    public var name = ""
    /// The members besides this user, in the order they were added.
    public private(set) var members: [UserProfile] = []
    /// The search for users to add.
    public let directory: DirectoryModel
    /// The error of the last failed call; set it to `nil` after you show it.
    public var error: ChatError?

    /// Whether ``create()`` has an effect.
    public var canCreate: Bool { !name.allSatisfy(\.isWhitespace) && !isCreating }
    /// The users to offer: those that the search found, and the user whose ID is exactly the searched text.
    ///
    /// Users can thus be added even if the server has no directory.
    public var candidates: [UserProfile] {
        let typed = (try? UserID(directory.text)).map { UserProfile(id: $0) }
        let found = directory.results
        let exact = typed.map { user in found.contains { $0.id == user.id } ? [] : [user] } ?? []
        return (found + exact).filter { $0.id != client.user && !isMember($0.id) }
    }

    /// The request that creates the group, after ``create()``.
    @ObservationIgnored private(set) var creation: SendHandle?
    private var isCreating = false
    @ObservationIgnored private let client: ChatClient

    /// Creates a model without a name and members.
    public init(_ client: ChatClient) {
        self.client = client
        directory = DirectoryModel(client)
    }

    /// Adds a user to the members, and clears the search.
    public func add(_ user: UserProfile) {
        guard !isMember(user.id) else { return }
        members.append(user)
        directory.text = ""
    }

    /// Removes a user from the members.
    public func remove(_ user: UserID) {
        members.removeAll { $0.id == user }
    }

    /// Creates the group on this device, which sends it to the server when it is online.
    ///
    /// - Returns: The group; `nil` if it can't be created, with ``error`` set, or if its name is missing.
    public func create() async -> ConversationID? {
        guard canCreate else { return nil }
        isCreating = true
        defer { isCreating = false }
        do throws(ChatError) {
            let group = client.conversation(.newGroup())
            creation = try await group.create(ConversationSettings(name: name, members: members.map(\.id)))
            return group.id
        } catch {
            self.error = error
            return nil
        }
    }

    private func isMember(_ user: UserID) -> Bool { members.contains { $0.id == user } }
}
