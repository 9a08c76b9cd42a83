import GRDB
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire
import SQLiteSupport

// Queued changes of conversations and of the user's profile. Reads show them as if the server had accepted them. A
// change that is refused or cancelled is no longer shown, and nothing must be restored.

extension LocalReader {
    /// A condition for conversations that no queued request deletes.
    ///
    /// It compares the number, which every index of the table has.
    static let isKept = """
        number NOT IN (
            SELECT number FROM conversation
            WHERE id IN (SELECT conversation FROM outbox WHERE subject = 'deletion' AND state <> 'failed'))
        """

    /// Returns a condition for conversations whose member the user is, and that no queued request leaves.
    ///
    /// - Parameter row: The table of the conversations, or its alias.
    static func isStaying(_ row: String = "conversation") -> String {
        """
        \(row).isMember AND \(row).number NOT IN (
            SELECT number FROM conversation
            WHERE id IN (SELECT conversation FROM outbox WHERE subject = 'leaving' AND state <> 'failed'))
        """
    }

    /// Returns the columns of the shown unread counts, which are 0 if the user is not a member or leaves.
    ///
    /// - Parameter row: The table of the conversations, or its alias.
    static func shownCounts(of row: String = "conversation") -> String {
        "iif(\(isStaying(row)), \(row).unread, 0), iif(\(isStaying(row)), \(row).mentions, 0)"
    }

    /// A condition for conversations of the kinds that the list of recents shows.
    static let hasRecents: String = {
        let others = ConversationKind.allCases.filter { !$0.traits.hasRecents }.map { "'\($0.rawValue)'" }
        return "kind NOT IN (\(others.joined(separator: ", ")))"
    }()

    /// Returns the queued changes of a subject, in order, with their conversations.
    func queued(
        _ subject: OutboxRequest.Subject
    ) throws -> [(conversation: ConversationID, request: OutboxRequest)] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT id, conversation, body FROM outbox WHERE subject = ? AND state <> 'failed' ORDER BY ordinal
                    """), arguments: [subject.rawValue]
        ).map { row in
            let conversation = try ConversationID(row[1] as String)
            let body = try text(row[2], "body", of: .outbox(MessageID(data: row[0]))) ?? ""
            return (conversation, try OutboxRequest(storedText: body, in: conversation, isMessage: false))
        }
    }

    /// Returns the queued settings of all conversations, in order.
    func queuedSettings() throws -> [ConversationID: [ConversationSettings]] {
        var settings: [ConversationID: [ConversationSettings]] = [:]
        for case (let id, .putConversation(let request)) in try queued(.settings) {
            settings[id, default: []].append(request.settings)
        }
        return settings
    }

    /// Returns a profile with the queued changes of the user.
    func applyingQueuedChanges(to profile: UserProfile) throws -> UserProfile {
        try queued(.profile).reduce(profile) { profile, change in
            guard case .putUser(let request) = change.request, request.user == profile.id else { return profile }
            return request.change.applied(to: profile)
        }
    }
}

extension RecentConversation {
    /// Applies settings that the server has not accepted yet.
    mutating func apply(_ settings: [ConversationSettings]) {
        for change in settings {
            name = name.changed(to: change.name)
            avatar = avatar.changed(to: change.avatar)
            isFrozen = change.isFrozen ?? isFrozen
        }
    }
}

extension LocalWriter {
    /// Stores the name and the picture that the server accepted.
    ///
    /// The conversation's head has them too, but arrives later.
    func saveAccepted(_ settings: ConversationSettings, of id: ConversationID) throws {
        guard settings.name != nil || settings.avatar != nil else { return }
        var entry = try entry(of: id)
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT name, avatar FROM conversation WHERE number = ?"),
            arguments: [entry.number])
        let rowID = EncryptedRow.conversation(id)
        entry.value.rename(
            to: RecentEntry.Profile(
                name: try row.flatMap { try reader.text($0[0], "name", of: rowID) }.changed(to: settings.name),
                avatar: try row.flatMap { try reader.text($0[1], "avatar", of: rowID) }.changed(to: settings.avatar)))
        try save(entry)
    }

    /// Deletes the entry of a conversation whose creation the server refused or the user cancelled.
    ///
    /// A conversation whose log is known exists, and stays.
    func undoCreation(_ id: ConversationID) throws {
        if try reader.log(of: id) == nil { try deleteConversation(id) }
    }
}
