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
}

// The members of a conversation; for a community and its default channel, the members of the community. All methods
// send their requests immediately and queue nothing.

extension Conversation {
    /// Fetches a page of the members, sorted by user ID; for a public channel, the members of its community.
    ///
    /// - Parameters:
    ///   - user: The `next` of the previous page.
    ///   - limit: The maximum number of members, 1...100.
    /// - Throws: `forbidden` if the user is not a member, and for rooms. `invalid-parameter` or `unreachable`.
    public func members(after user: UserID? = nil, limit: Int = 100) async throws(ChatError) -> MemberPage {
        try Self.check(limit)
        let page = try await core.perform(
            ListMembers(conversation: memberListID, page: Paging(limit: limit, cursor: user?.text)))
        return MemberPage(
            members: page.elements, profiles: try await core.people(Set(page.elements.map(\.id))),
            next: try page.after())
    }

    /// Adds a member, which requires the moderator role.
    ///
    /// - Returns: Whether the user was not a member before.
    /// - Throws: `forbidden`. `unknown-member` if a user is added to a private channel without being a member of its
    ///   community. `unreachable`.
    @discardableResult
    public func add(_ user: UserID, as role: Role = .member) async throws(ChatError) -> Bool {
        // Without a role, an existing member keeps theirs and a new member gets the member role.
        try await put(user, role: role == .member ? nil : role)
    }

    /// Removes a member, which requires the moderator role and a role that is not below the member's.
    ///
    /// - Throws: `forbidden`. `unknown-member` if the user is not a member. `unreachable`.
    public func remove(_ user: UserID) async throws(ChatError) {
        _ = try await core.perform(RemoveMember(conversation: memberListID, user: user))
    }

    /// Changes a member's role, which requires the owner role.
    ///
    /// A user who is not a member becomes one.
    ///
    /// - Throws: `forbidden` or `unreachable`.
    public func setRole(_ role: Role, of user: UserID) async throws(ChatError) {
        _ = try await put(user, role: role)
    }

    /// Mutes a member, or unmutes the member if `mute` is `nil`.
    ///
    /// It requires the moderator role.
    ///
    /// The mute persists if the member leaves and returns. Members can't mute themselves or members with a higher role.
    ///
    /// - Throws: `forbidden`. `unknown-member` if the user is not a member. `unreachable`.
    public func mute(_ user: UserID, _ mute: Mute?) async throws(ChatError) {
        _ = try await put(user, role: nil, mute: .some(mute))
    }

    /// Leaves the conversation.
    ///
    /// The user keeps access to messages up to now, and receives no new ones.
    ///
    /// - Throws: `unknown-member` if the user is not a member. `forbidden` for conversations that can't be left, such
    ///   as direct conversations. `unreachable`.
    public func leave() async throws(ChatError) {
        try await remove(core.user)
    }

    private func put(_ user: UserID, role: Role?, mute: Mute?? = nil) async throws(ChatError) -> Bool {
        try await core.perform(PutMember(conversation: memberListID, user: user, role: role, mute: mute)).isNew
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
        let wanted = known.outdated.sorted()
        for start in stride(from: 0, to: wanted.count, by: FetchUsers.maximum) {
            // The members are complete without the profiles, so errors are ignored.
            try? await fetchProfiles(Array(wanted[start...].prefix(FetchUsers.maximum)))
        }
        return try await store.read { try $0.profiles(users, fetchedSince: time) }.profiles
    }
}
