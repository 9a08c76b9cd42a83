import Foundation
public import ScrollbackModel
import ScrollbackWire

/// A page of a conversation's members.
public struct MemberPage: Sendable {
    /// By name.
    public var members: [Member]
    /// Their profiles, as far as they have one and this device could get it.
    public var people: [UserID: UserProfile]
    /// Where the next page begins; absent where there is none.
    public var next: UserID?
}

// Who is in a conversation; of a community, and of its default channel, who is in the community. Everything here is asked of the
// server at once, and not queued.

extension Conversation {
    /// Asks the server who is a member now, by name; of a public channel, who is one of its community.
    ///
    /// - Parameters:
    ///   - user: the `next` of the page before.
    ///   - limit: how many, 1...100.
    /// - Throws: `forbidden` for who is no member, and of a room; `invalid-parameter`; `unreachable`.
    public func members(after user: UserID? = nil, limit: Int = 100) async throws(ChatError) -> MemberPage {
        try Self.check(limit)
        let body = try await core.request(.people(.members(list, after: user, limit: limit)))
        var reader = try JSONReader(body)
        let page = try ListPage<Member>(from: &reader)
        return MemberPage(
            members: page.elements, people: try await core.people(Set(page.elements.map(\.id))),
            next: try page.after())
    }

    /// Puts somebody in, which takes a moderator.
    ///
    /// - Returns: whether they were no member before.
    /// - Throws: `forbidden`; `unknown-member` where somebody is put into a private channel who is not in its community;
    ///   `unreachable`.
    @discardableResult
    public func add(_ user: UserID, as role: Role = .member) async throws(ChatError) -> Bool {
        // An ordinary member's role goes without saying: whoever is there already keeps theirs.
        try await put(user, role: role == .member ? nil : role)
    }

    /// Puts somebody out, which takes a moderator, and of moderators and owners one of their kind.
    ///
    /// - Throws: `forbidden`; `unknown-member` for who is none; `unreachable`.
    public func remove(_ user: UserID) async throws(ChatError) {
        _ = try await core.request(.people(.removeMember(list, user)))
    }

    /// Gives a member another role, which takes an owner.
    ///
    /// Who is no member becomes one.
    ///
    /// - Throws: `forbidden`; `unreachable`.
    public func setRole(_ role: Role, of user: UserID) async throws(ChatError) {
        _ = try await put(user, role: role)
    }

    /// Keeps somebody from writing here, which takes a moderator, or (nil) lets them write again.
    ///
    /// It lasts when they leave and come back. Nobody mutes themselves, or who stands above them.
    ///
    /// - Throws: `forbidden`; `unknown-member` for who is none; `unreachable`.
    public func mute(_ user: UserID, _ mute: Mute?) async throws(ChatError) {
        _ = try await put(user, role: nil, mute: .some(mute))
    }

    /// Leaves: this user sees what was said until now and no more, and hears nothing more of it.
    ///
    /// - Throws: `unknown-member` for who is none; `forbidden` where nobody leaves, as in a direct conversation;
    ///   `unreachable`.
    public func leave() async throws(ChatError) {
        try await remove(core.user)
    }

    private func put(_ user: UserID, role: Role?, mute: Mute?? = nil) async throws(ChatError) -> Bool {
        var reader = try JSONReader(
            try await core.request(.people(.putMember(list, user, role: role, mute: mute))))
        var isNew = false
        try reader.object { (name, value) throws(ChatError) in
            if name == "isNew" { isNew = try value.bool() } else { try value.skip() }
        }
        return isNew
    }

    /// Where its members are listed: a community is spoken of by its default channel, and has a list of its own.
    var list: ConversationID {
        guard let community = id.community, community.log == id else { return id }
        return community
    }

    static func check(_ limit: Int) throws(ChatError) {
        guard (1...100).contains(limit) else { throw .invalidParameter("limit", "must be in 1...100", limit: 100) }
    }
}

extension ClientCore {
    /// Profiles of these people: what this device has, and what it lacks from the server, if that can be asked.
    func people(_ users: Set<UserID>) async throws(ChatError) -> [UserID: UserProfile] {
        let time = clock().addingTimeInterval(-Self.profileLifetime)
        let known = try await store.read { try $0.people(users, fetchedSince: time) }
        guard !known.wanted.isEmpty else { return known.profiles }
        let wanted = known.wanted.sorted()
        for start in stride(from: 0, to: wanted.count, by: ClientRequest.maximumUsers) {
            // Names are there without it, and without a picture.
            try? await fetchPeople(Array(wanted[start...].prefix(ClientRequest.maximumUsers)))
        }
        return try await store.read { try $0.people(users, fetchedSince: time) }.profiles
    }
}
