import Foundation
import ScrollbackModel
import ScrollbackWire

extension Transaction {
    /// Creates a conversation whose name lists its users, who become members from the beginning.
    func createNamed(_ id: ConversationID, by caller: UserID) throws -> ConversationRow {
        let row = try makeLog(id)
        for user in id.namedUsers { try addMember(user, as: .member, to: row, sinceBeginning: true, by: caller) }
        return row
    }

    /// Creates a direct conversation without messages, so that the caller can change their settings in it.
    ///
    /// The other user receives the conversation with the first message. The caller's quotas count the conversation now,
    /// because the first message no longer creates it.
    func prepareNamed(_ id: ConversationID, for caller: Caller) throws {
        let known = try conversation(id).flatMap { $0.isDeleted ? nil : $0 }
        if let known, try !isNotStarted(known, for: caller.user) { return }
        try store.checkMayStart(id, by: caller)
        let hasOther = id.namedUsers.contains { $0 != caller.user }
        let growth = Growth(members: known == nil && hasOther ? 1 : 0, messageBytes: Self.rowBytes)
        try checkGrowth(growth, by: caller)
        try recordGrowth(growth, by: caller)
        var row = try known ?? makeLog(id)
        if hasOther {
            row.flags.insert(.missingParticipant)
            row = try put(row)
        }
        try addMember(caller.user, as: .member, to: row, sinceBeginning: true, by: caller.user)
    }

    /// Returns whether a direct conversation does not exist yet from a user's point of view.
    ///
    /// This is the case if it has no messages and exists only because the other user changed their settings in it.
    func isNotStarted(_ row: ConversationRow, for user: UserID) throws -> Bool {
        try row.head == 0 && isMissingParticipant(user, in: row)
    }

    /// Adds the missing users of a direct conversation as members who can't see earlier messages.
    ///
    /// - Parameter sender: The user who acts, and so uses the name. Other users whose data was erased stay missing
    ///   until their name is used again.
    func addMissingParticipants(_ sender: UserID, to row: ConversationRow) throws -> ConversationRow {
        var areAllPresent = true
        for user in row.id.namedUsers where try member(user, of: row.number)?.standing != .member {
            let state = try store.user(user)?.state
            if user == sender || state != .erased && state != .erasing {
                try addMember(user, as: .member, to: row, sinceBeginning: false, by: sender)
            } else {
                areAllPresent = false
            }
        }
        guard areAllPresent, var row = try conversation(row.id) else { return try conversation(row.id) ?? row }
        row.flags.remove(.missingParticipant)
        return try put(row)
    }

    /// Creates a new log: a new row, or the row of a deleted conversation with a new salt and thus a new epoch.
    func makeLog(_ id: ConversationID) throws -> ConversationRow {
        var generator = SystemRandomNumberGenerator()
        var row = ConversationRow(id: id, salt: generator.next(), createdAt: now.date)
        row.blocks = try blocks(in: id)
        if let old = try conversation(id) {
            row.number = old.number
            row.view = old.view + 1
        }
        return try put(row)
    }

    /// Checks that a user is a member of the community, as members of a private channel must be.
    func checkIsMember(_ user: UserID, of community: ConversationRow) throws {
        guard try member(user, of: community.number)?.standing == .member else {
            throw ChatError(.unknownMember, "\(user) is not a member of \(community.id).", parameter: "user")
        }
    }

    func erase(_ row: ConversationRow) throws {
        try endInvitations(to: row)
        // Other users can create a conversation of the same name, which must not get the posts.
        try store.dropIncomingWebhooks(to: row.id)
        try erase(contentsOf: row)
        var row = try conversation(row.id) ?? row
        row.isDeleted = true
        row.head = 0
        row.countedIndex = 0
        row.recentSeq = 0
        row.recentTime = Timetoken(rawValue: 0)
        row.firstSeq = 1
        row.floorCountedIndex = 0
        row.floorTime = Timetoken(rawValue: 0)
        row.sweptSeq = 1
        row.changeFloor = row.rev
        row.hasDeletedRanges = false
        row.hasMutes = false
        row.flags = []
        try put(row)
        publish(.conversationDeleted(row.id))
    }
}
