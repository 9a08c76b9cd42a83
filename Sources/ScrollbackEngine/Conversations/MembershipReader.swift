import Foundation
package import ScrollbackModel

/// The rows that decide what a user may do in a conversation.
///
/// A snapshot of the store has them, and so does a ``Transaction``, with its uncommitted changes. The rules about
/// members are extensions of this protocol, so that reads and writes apply the same ones.
package protocol MembershipReader {
    func conversation(_ id: ConversationID) throws -> ConversationRow?
    func member(_ user: UserID, of conversation: Int64) throws -> MemberRow?
    /// Returns a user's membership spans, oldest first.
    func spans(of user: UserID, in conversation: Int64) throws -> [SpanRow]
    /// Returns a ban from a conversation, or from the server (``BanRow/server``); the ban may have expired.
    func ban(of user: UserID, in conversation: Int64) throws -> BanRow?
    /// Returns a user's mute in a conversation; it may have expired.
    func mute(of user: UserID, in conversation: Int64) throws -> Mute?
    /// Returns whether `user` has blocked `other`.
    func hasBlocked(_ user: UserID, _ other: UserID) throws -> Bool
}

extension MembershipReader {
    /// Returns the community of a channel, or `nil` for any other conversation.
    func community(of row: ConversationRow) throws -> ConversationRow? {
        row.id.isCommunityRoot ? nil : try row.id.community.flatMap { try conversation($0) }
    }

    /// Returns the conversations whose bans, mutes and freezes apply: the conversation and, for a channel, its
    /// community.
    func restrictingConversations(of row: ConversationRow) throws -> [ConversationRow] {
        [row] + (try community(of: row).map { [$0] } ?? [])
    }

    /// Returns a user's current role, or `nil` if they are not a member.
    func role(of user: UserID, in row: ConversationRow) throws -> Role? {
        let own = try member(user, of: row.number)
        let community = try community(of: row)
        let outer = try community.flatMap { $0.isDeleted ? nil : try member(user, of: $0.number) }
        return row.role(own: own, community: outer)
    }

    /// Returns whether a user is or was a member.
    ///
    /// For former members of a community, a public channel that was created later does not exist.
    func isOrWasMember(_ user: UserID, in row: ConversationRow) throws -> Bool {
        if let member = try member(user, of: row.number), member.standing != .reader { return true }
        guard !row.isPrivate, let community = row.id.community, let outer = try conversation(community),
            let membership = try member(user, of: outer.number)
        else { return false }
        guard membership.standing != .member, let end = try spans(of: user, in: outer.number).last?.left else {
            return true
        }
        return row.createdAt <= Timetoken(span: end).date
    }
}

extension ConversationRow {
    /// Returns a user's current role, or `nil` if they are not a member.
    ///
    /// The members of a public channel are the community's. Members of a private channel are also members of the
    /// community, and have the higher of the two roles.
    ///
    /// - Parameters:
    ///   - own: The user's row in this conversation.
    ///   - outer: For a channel, the user's row in its community.
    func role(own: MemberRow?, community outer: MemberRow?) -> Role? {
        let ownRole = own?.standing == .member ? own?.role : nil
        guard id.kind == .community, !id.isCommunityRoot else { return ownRole }
        guard let outer, outer.standing == .member else { return nil }
        return isPrivate ? ownRole.map { max($0, outer.role) } : outer.role
    }
}

extension Transaction: MembershipReader {
    package func spans(of user: UserID, in conversation: Int64) throws -> [SpanRow] {
        try store.spans(of: user, in: conversation)
    }

    package func ban(of user: UserID, in conversation: Int64) throws -> BanRow? {
        try store.ban(of: user, in: conversation)
    }

    package func mute(of user: UserID, in conversation: Int64) throws -> Mute? {
        try store.mute(of: user, in: conversation)
    }

    package func hasBlocked(_ user: UserID, _ other: UserID) throws -> Bool {
        try store.hasBlocked(user, other)
    }
}
