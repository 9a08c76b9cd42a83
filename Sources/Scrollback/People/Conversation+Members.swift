import Foundation
public import ScrollbackModel
import ScrollbackWire

/// A page of a conversation's members.
public struct MemberPage: Sendable {
    /// The members, sorted by user ID.
    public var members: [Member]
    /// The members' profiles, if they have one and the client could load it.
    public var profiles: [UserID: UserProfile]
    /// The value of `after` for the next page; `nil` if there is none.
    public var next: UserID?
    /// The error that prevented loading the page from the server.
    ///
    /// The page then has the members that this device loaded before.
    public var remoteError: ChatError?
}

// The members of a conversation; for a community and its default channel, the members of the community. Each change
// returns once it is stored durably on this device, which shows it immediately. The outbox sends it in the order of the
// other changes of the conversation, across restarts. If the server refuses it, it is no longer shown.

extension Conversation {
    /// Returns a page of the members, sorted by user ID; for a public channel, the members of its community.
    ///
    /// - Parameters:
    ///   - user: The `next` of the previous page.
    ///   - limit: The maximum number of members, 1...100.
    /// - Returns: The server's page, with the changes that are not sent yet. Without a connection, the members that
    ///   this device loaded before, and the error.
    /// - Throws: `forbidden` if the user is not a member, and for rooms. `invalid-parameter` or `local-storage`.
    public func members(after user: UserID? = nil, limit: Int = 100) async throws(ChatError) -> MemberPage {
        try Self.check(limit)
        var known = try await queuedChanges()
        while true {
            var page = try await storedOrRemoteMembers(after: user, limit: limit)
            let changes = try await queuedChanges()
            // The server may have read the members before a change that has left the queue since.
            let left = changes.filter { change in known.contains { $0.operation == change.operation } }
            guard left.count == known.count || page.remoteError != nil else {
                known = left
                continue
            }
            var members = Dictionary(page.members.map { ($0.id, $0) }) { $1 }
            for change in changes {
                change.apply(to: &members) { [next = page.next] added in
                    (user.map { $0 < added } ?? true) && (next.map { added <= $0 } ?? true)
                }
            }
            page.members = members.values.sorted { $0.id < $1.id }
            page.profiles = try await core.people(Set(page.members.map(\.id)))
            return page
        }
    }

    private func queuedChanges() async throws(ChatError) -> [MemberChange] {
        let list = memberListID
        return try await core.store.read { try $0.queuedMemberChanges(in: list) }
    }

    /// Returns the server's page, or without a connection the members that this device loaded before, and the error.
    private func storedOrRemoteMembers(after user: UserID?, limit: Int) async throws(ChatError) -> MemberPage {
        let list = memberListID
        var page = MemberPage(members: [], profiles: [:])
        do {
            let answer = try await core.perform(
                ListMembers(conversation: list, page: Paging(limit: limit, cursor: user?.text)))
            let next = try answer.after()
            try await core.store.write { try $0.save(answer.elements, of: list, after: user, through: next) }
            (page.members, page.next) = (answer.elements, next)
        } catch {
            guard error.isTemporary else { throw error }
            let stored = try await core.store.read {
                try $0.storedMembers(of: list, after: user, limit: limit + 1)
            }
            page.members = Array(stored.prefix(limit))
            page.next = stored.count > limit ? page.members.last?.id : nil
            page.remoteError = error
        }
        return page
    }

    /// Adds a member, which requires the moderator role.
    ///
    /// - Throws: `local-storage`. The server can still refuse it. Errors: `forbidden`, `blocked`,
    ///   `invitation-required`, `rate-limited` over the daily quota. `unknown-member` for a private channel if the user
    ///   is no member of its community.
    @discardableResult
    public func add(_ user: UserID, as role: Role = .member) async throws(ChatError) -> SendHandle {
        // Without a role, an existing member keeps theirs and a new member gets the member role.
        try await put(user, role: role == .member ? nil : role)
    }

    /// Removes a member, which requires the moderator role and a role that is not below the member's.
    ///
    /// - Throws: `local-storage`. The server can still refuse it: `forbidden`, or `unknown-member` if the user is not a
    ///   member.
    @discardableResult
    public func remove(_ user: UserID) async throws(ChatError) -> SendHandle {
        let operation = core.newID()
        let request = RemoveMember(conversation: memberListID, user: user, operation: operation)
        return try await core.queue(
            user == core.user ? .leave(request) : .removeMember(request), operation, in: id)
    }

    /// Changes a member's role, which requires the owner role.
    ///
    /// A user who is not a member becomes one.
    ///
    /// - Throws: `local-storage`. The server can still refuse it with `forbidden`.
    @discardableResult
    public func setRole(_ role: Role, of user: UserID) async throws(ChatError) -> SendHandle {
        try await put(user, role: role)
    }

    /// Mutes a member, or unmutes the member if `mute` is `nil`.
    ///
    /// It requires the moderator role.
    ///
    /// The mute persists if the member leaves and returns. Members can't mute themselves or members with a higher role.
    ///
    /// - Throws: `local-storage`. The server can still refuse it: `forbidden`, or `unknown-member` if the user is not a
    ///   member.
    @discardableResult
    public func mute(_ user: UserID, _ mute: Mute?) async throws(ChatError) -> SendHandle {
        try await put(user, role: nil, mute: .some(mute))
    }

    /// Leaves the conversation.
    ///
    /// The user keeps access to messages up to now, and receives no new ones. Messages that are queued before are sent
    /// first.
    ///
    /// - Throws: `local-storage`. The server can still refuse it with `forbidden` for conversations that can't be left,
    ///   such as direct conversations. A user who is not a member has left.
    @discardableResult
    public func leave() async throws(ChatError) -> SendHandle {
        try await remove(core.user)
    }

    private func put(_ user: UserID, role: Role?, mute: Mute?? = nil) async throws(ChatError) -> SendHandle {
        let operation = core.newID()
        let request = PutMember(
            conversation: memberListID, user: user, role: role, mute: mute, operation: operation)
        return try await core.queue(.putMember(request), operation, in: id)
    }

    /// The ID that identifies the member list: for a community's default channel, the community.
    var memberListID: ConversationID { id.administered }

    static func check(_ limit: Int) throws(ChatError) {
        guard (1...100).contains(limit) else { throw .invalidParameter("limit", "must be in 1...100", limit: 100) }
    }
}

extension ClientCore {
    /// Returns the profiles of users, from the device, or from the server if they are missing or outdated.
    func people(_ users: Set<UserID>) async throws(ChatError) -> [UserID: UserProfile] {
        let time = clock().addingTimeInterval(-Self.profileLifetime)
        let known = try await store.read { try $0.profiles(users, fetchedSince: time) }
        guard !known.outdated.isEmpty else { return known.profiles }
        for users in known.outdated.sorted().chunks(of: FetchUsers.maximum) {
            // The members are complete without the profiles, so errors are ignored.
            try? await fetchProfiles(users)
        }
        return try await store.read { try $0.profiles(users, fetchedSince: time) }.profiles
    }

    /// Returns the profiles of users that this device has, however old they are.
    package func knownPeople(_ users: Set<UserID>) async throws(ChatError) -> [UserID: UserProfile] {
        try await store.read { try $0.profiles(users, fetchedSince: .distantPast) }.profiles
    }
}
