import Foundation
import ScrollbackModel

extension StoreReader {
    /// Refuses who was banned from a conversation, or from the community a channel belongs to.
    ///
    /// Where nobody was ever banned nothing is read. A public channel has no bans: those of when it was private hold
    /// again once it is that again.
    ///
    /// - Parameter caller: who is told so, if somebody else.
    /// - Throws: `banned`.
    func checkIsNotBanned(
        _ user: UserID, from places: [ConversationRow], now: Date, toldTo caller: UserID? = nil
    ) throws {
        for place in places where place.marks.contains(.bans) && !place.isPublicChannel {
            if let ban = try ban(of: user, in: place.number)?.ban, ban.holds(at: now) {
                throw ban.refusal("\(place.id)", now: now, toldTo: caller ?? user)
            }
        }
    }
}

extension Transaction {
    /// As ``StoreReader/checkIsNotBanned(_:from:now:toldTo:)``, over the rows as this batch left them.
    func checkIsNotBanned(_ user: UserID, from row: ConversationRow, toldTo caller: UserID? = nil) throws {
        let community = row.id.isCommunityItself ? nil : try row.id.community.flatMap { try conversation($0) }
        try store.checkIsNotBanned(
            user, from: [row] + (community.map { [$0] } ?? []), now: now.date, toldTo: caller)
    }

    /// A conversation that the caller may ban people from.
    ///
    /// - Throws: `invalid-parameter` for a public channel, whose members are its community's.
    func conversationWithBans(
        _ id: ConversationID, by caller: Caller, permissions: Permissions
    ) throws -> ConversationRow {
        let row = try conversation(id, seenBy: caller, permissions: permissions)
        if row.isPublicChannel {
            throw ChatError.invalidParameter(
                "conversation",
                "is a public channel: ban from its community, \(ConversationID.community(id.target)), or mute them here"
            )
        }
        guard permissions[.ban, id.kind].isMet(by: try role(of: caller.user, in: row), isAdmin: caller.isAdmin) else {
            throw ChatError(.forbidden, "banning somebody from \(id) takes more than you are there")
        }
        return row
    }

    /// Puts somebody out of a conversation, and keeps them out.
    ///
    /// A moderator bans who is less than they are, whoever it is that is no member, and never themselves.
    func put(_ ban: Ban, in id: ConversationID, by caller: Caller, permissions: Permissions) throws {
        var row = try conversationWithBans(id, by: caller, permissions: permissions)
        let user = ban.id
        guard user != caller.user else {
            throw ChatError.invalidParameter("user", "must be somebody else: nobody bans themselves")
        }
        let known = try role(of: user, in: row)
        if !caller.isAdmin, let known, known >= (try role(of: caller.user, in: row) ?? .member) {
            throw ChatError(.forbidden, "banning \(user) from \(id) takes more than you are there")
        }
        try store.put(BanRow(conversation: row.number, ban: ban))
        try signGuestbook(of: row.number, as: user)
        if !row.marks.contains(.bans) {
            row.marks.insert(.bans)
            row = try put(row, isNews: false)
        }
        try useInvitation(of: user, to: row)
        if try member(user, of: row.number)?.standing == .member {
            if id.isCommunityItself { try takeOutOfChannels(user, of: id, by: caller.user) }
            try takeOut(user, of: id, by: caller.user, as: .memberBanned)
        } else if id.kind.traits.membership == .subscribers {
            publish(.banned(id, user))
        }
    }

    /// Lets nobody in under a name, for a time or for good.
    func putServerBan(_ ban: Ban) throws {
        var row = try store.user(ban.id) ?? UserRow(profile: UserProfile(id: ban.id))
        guard row.state == .active || row.state == .deactivated else { throw row.unknown }
        row.isBanned = true
        try store.put(row)
        try store.put(BanRow(conversation: 0, ban: ban))
        publish(.shutOut(ban.id, ban.refusal("this server", now: now.date)))
    }
}
